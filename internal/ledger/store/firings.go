package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/notice"
)

// Register implements ledger.Firings.
func (s *Store) Register(ctx context.Context, rule, scope string, now time.Time) (ledger.ScopeState, error) {
	// Asking first keeps restarts from using up ids.
	state, err := s.Scope(ctx, rule, scope)
	if !errors.Is(err, ledger.ErrNotFound) {
		return state, err
	}
	if _, err := s.db.Exec(ctx, "register", rule, scope, rows.Micros(now)); err != nil {
		return ledger.ScopeState{}, err
	}
	return s.Scope(ctx, rule, scope)
}

// Scope implements ledger.ScopeReader.
func (s *Store) Scope(ctx context.Context, rule, scope string) (ledger.ScopeState, error) {
	row := rows.Scope{Rule: rule, Name: scope}
	found, err := s.db.One(ctx, "scope", []any{rule, scope, s.NowArg()}, row.Columns()...)
	if err != nil {
		return ledger.ScopeState{}, err
	}
	if !found {
		return ledger.ScopeState{}, notKnown(rule, scope)
	}
	return row.State()
}

func notKnown(rule, scope string) error {
	return fmt.Errorf("%w: rule %q in scope %q", ledger.ErrNotFound, rule, scope)
}

// WhyNotClaimed finds out why a claim of the firing was refused: ErrNotFound, ErrDone or ErrBusy.
func (s *Store) WhyNotClaimed(ctx context.Context, rule, scope string, due time.Time) error {
	state, err := s.Scope(ctx, rule, scope)
	if err != nil {
		return err
	}
	if !state.Done.Before(due) {
		return ledger.ErrDone
	}
	return ledger.ErrBusy
}

// Renew implements ledger.Firings.
func (s *Store) Renew(ctx context.Context, c ledger.Claim, lease time.Duration) error {
	return FencedIfNone(s.db.Exec(ctx, "renew", c.Rule, c.Scope, c.Token, rows.Micros(c.Due), lease.Microseconds(), s.NowArg()))
}

// Abandoned implements ledger.Firings.
func (s *Store) Abandoned(ctx context.Context) ([]ledger.Claim, error) {
	c := ledger.Claim{Repeated: true}
	var due, until int64
	targets := []any{&c.Rule, &c.Scope, &due, &c.Node, &c.Token, &until}
	return list(ctx, s.db, "abandoned", []any{s.NowArg()}, targets, func() (ledger.Claim, error) {
		c.Due, c.LeaseUntil = rows.Time(due), rows.Time(until)
		return c, nil
	})
}

// Skip implements ledger.Firings.
func (s *Store) Skip(ctx context.Context, rule, scope string, due time.Time, node, reason string) error {
	return s.leaveOut(ctx, "skip", rule, scope, due, node, reason)
}

// Thaw implements ledger.Firings.
func (s *Store) Thaw(ctx context.Context, rule, scope string, due time.Time, node, reason string) error {
	return s.leaveOut(ctx, "thaw", rule, scope, due, node, reason)
}

// leaveOut moves the last firing on past one that does not run, and records why. With thaw no time has passed for the findings.
func (s *Store) leaveOut(ctx context.Context, what, rule, scope string, due time.Time, node, reason string) error {
	var n int64
	err := s.db.InTx(ctx, what, func(tx Conn) error {
		var err error
		if what == "thaw" {
			if _, err = tx.Exec(ctx, "thaw-findings", rule, scope, rows.Micros(due)); err != nil {
				return err
			}
		}
		if n, err = tx.Exec(ctx, "skip", rule, scope, rows.Micros(due)); err != nil || n == 0 {
			return err
		}
		if what == "thaw" {
			if _, err = tx.Exec(ctx, "thaw", rule, scope, rows.Micros(due)); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "record-skip", rule, scope, rows.Micros(due), node, reason, s.NowArg())
		return err
	})
	if err == nil && n == 0 {
		_, err = s.Scope(ctx, rule, scope)
	}
	return err
}

// Findings implements ledger.ScopeReader.
func (s *Store) Findings(ctx context.Context, rule, scope string) ([]finding.State, error) {
	var row rows.Finding
	return list(ctx, s.db, "findings", []any{rule, scope}, row.Columns(), func() (finding.State, error) { return row.State(), nil })
}

// Notices implements ledger.ScopeReader.
func (s *Store) Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error) {
	found := make(map[string]*notice.Notice, len(ids))
	var b body
	err := s.db.Each(ctx, "notices", []any{ids}, []any{&b}, func() error {
		n, err := notice.Unmarshal(b)
		if err == nil {
			found[n.ID] = n
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Forget implements ledger.Firings. A commit that runs holds its rule and scope: what it has added goes, too.
func (s *Store) Forget(ctx context.Context, known map[string]bool) (n int64, err error) {
	err = s.db.InTx(ctx, "forget", func(tx Conn) error {
		n = 0
		gone, err := unknownScopes(ctx, tx, known)
		if err != nil || len(gone) == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, "forget-plans", gone); err != nil {
			return err
		}
		if n, err = tx.Exec(ctx, "forget", gone); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "forget-findings", gone)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// unknownScopes returns the ids of rules and scopes that are not known.
func unknownScopes(ctx context.Context, tx Conn, known map[string]bool) ([]int64, error) {
	var ids []int64
	var id int64
	var rule, scope string
	err := tx.Each(ctx, "scopes", nil, []any{&id, &rule, &scope}, func() error {
		if !known[ledger.ScopeKey(rule, scope)] {
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

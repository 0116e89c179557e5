package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/notice"
)

// firingStore is ledger.Firings without the methods that each engine implements itself.
type firingStore struct{ *base }

// Register implements ledger.Firings.
func (s *firingStore) Register(ctx context.Context, rule, scope string, term int64, now time.Time) (ledger.ScopeState, error) {
	// Read first: an INSERT that meets a conflict uses up an id, and every restart registers all scopes.
	state, err := s.Scope(ctx, rule, scope)
	if !errors.Is(err, ledger.ErrNotFound) {
		return state, err
	}
	if _, err := s.db.Exec(ctx, "register", rule, scope, term, codec.Micros(now)); err != nil {
		return ledger.ScopeState{}, err
	}
	return s.Scope(ctx, rule, scope)
}

// Scope implements ledger.ScopeReader.
func (s *firingStore) Scope(ctx context.Context, rule, scope string) (ledger.ScopeState, error) {
	row := codec.Scope{Rule: rule, Name: scope}
	found, err := s.db.One(ctx, "scope", []any{rule, scope, s.LeaseArg()}, row.Columns()...)
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

// WhyNotClaimed returns why a claim of the firing was refused: ErrNotFound, ErrDone or ErrBusy.
func (s *firingStore) WhyNotClaimed(ctx context.Context, rule, scope string, term int64, due time.Time) error {
	state, err := s.Scope(ctx, rule, scope)
	if err != nil {
		return err
	}
	if state.IsDone(term, due) {
		return ledger.ErrDone
	}
	return ledger.ErrBusy
}

// Renew implements ledger.Firings.
func (s *firingStore) Renew(ctx context.Context, c ledger.Claim, lease time.Duration) error {
	return FencedIfNone(s.db.Exec(ctx, "renew", c.Rule, c.Scope, c.Token, codec.Micros(c.Due), lease.Microseconds(), s.LeaseArg()))
}

// Abandoned implements ledger.Firings.
func (s *firingStore) Abandoned(ctx context.Context) ([]ledger.Claim, error) {
	c := ledger.Claim{Repeated: true}
	var due, until int64
	targets := []any{&c.Rule, &c.Scope, &c.Term, &due, &c.Node, &c.Token, &until}
	return list(ctx, s.db, "abandoned", []any{s.LeaseArg()}, targets, func() (ledger.Claim, error) {
		c.Due, c.LeaseUntil = codec.Time(due), codec.Time(until)
		return c, nil
	})
}

// Skip implements ledger.Firings.
func (s *firingStore) Skip(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) (bool, error) {
	return s.leaveOut(ctx, "skip", rule, scope, term, due, node, reason)
}

// Thaw implements ledger.Firings.
func (s *firingStore) Thaw(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) error {
	_, err := s.leaveOut(ctx, "thaw", rule, scope, term, due, node, reason)
	return err
}

// leaveOut records a firing that does not run, and makes it the last firing of the scope. what names the operation:
// skip or thaw. With thaw the observed clock of the findings does not advance. It returns false for a firing that runs
// or is done already, and an error for an unknown rule and scope.
func (s *firingStore) leaveOut(ctx context.Context, what, rule, scope string, term int64, due time.Time, node, reason string) (bool, error) {
	var n int64
	err := s.db.InTx(ctx, what, func(tx Conn) error {
		var err error
		if n, err = tx.Exec(ctx, "skip", rule, scope, codec.Micros(due), term); err != nil || n == 0 {
			return err
		}
		if what == "thaw" {
			if _, err = tx.Exec(ctx, "thaw", rule, scope, codec.Micros(due)); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "record-skip", rule, scope, codec.Micros(due), node, reason, s.NowArg(), term)
		return err
	})
	if err == nil && n == 0 {
		_, err = s.Scope(ctx, rule, scope)
	}
	return err == nil && n > 0, err
}

// Findings implements ledger.ScopeReader.
func (s *firingStore) Findings(ctx context.Context, rule, scope string) ([]finding.State, error) {
	var row codec.Finding
	return list(ctx, s.db, "findings", []any{rule, scope}, row.Columns(), func() (finding.State, error) { return row.State(), nil })
}

// Open implements ledger.OpenReader.
func (s *firingStore) Open(ctx context.Context, rule, scope string) (*finding.Open, error) {
	alerts, err := s.OpenFindings(ctx, rule, scope, finding.AlertHashes())
	if err != nil {
		return nil, err
	}
	var row codec.Outline
	return finding.ReadOpen(alerts, func(visit func(finding.Hash, *finding.State)) error {
		return s.db.Each(ctx, "outlines", []any{rule, scope, codec.Hashes(finding.AlertHashes())}, row.Columns(), func() error {
			st := row.State()
			visit(finding.Hash(row.KeyHash), &st)
			return nil
		})
	})
}

// OpenFindings implements ledger.OpenReader.
func (s *firingStore) OpenFindings(ctx context.Context, rule, scope string, keys []finding.Hash) ([]finding.State, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var row codec.Finding
	return list(ctx, s.db, "open-findings", []any{rule, scope, codec.Hashes(keys)}, row.Columns(), func() (finding.State, error) { return row.State(), nil })
}

// Carriers implements ledger.OpenReader.
func (s *firingStore) Carriers(ctx context.Context, rule, scope string, notices []string) (map[string]int, error) {
	out := make(map[string]int, len(notices))
	var id string
	var n int
	err := s.db.Each(ctx, "carriers", []any{rule, scope, notices}, []any{&id, &n}, func() error { out[id] = n; return nil })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Notices implements ledger.ScopeReader.
func (s *firingStore) Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error) {
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

// Removed implements ledger.Removals.
func (s *firingStore) Removed(ctx context.Context, known map[string]bool) ([]ledger.RemovedScope, error) {
	var removed []ledger.RemovedScope
	var r ledger.RemovedScope
	var due int64
	var back string
	err := s.db.Each(ctx, "scopes", nil, []any{&r.Rule, &r.Scope, &due, &back}, func() (err error) {
		if known[ledger.ScopeKey(r.Rule, r.Scope)] {
			return nil
		}
		r.LastDue = codec.Time(due)
		r.Back, err = codec.ParseBack(back)
		removed = append(removed, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

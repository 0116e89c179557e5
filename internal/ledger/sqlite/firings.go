package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/notice"
)

// errNothing ends a transaction that has nothing to change.
var errNothing = errors.New("nothing to change")

// Register implements ledger.Firings.
func (l *Ledger) Register(ctx context.Context, rule, scope string, now time.Time) (ledger.ScopeState, error) {
	if _, err := l.exec(ctx, "register", rule, scope, rows.Micros(now)); err != nil {
		return ledger.ScopeState{}, err
	}
	return l.Scope(ctx, rule, scope)
}

// Scope implements ledger.Firings.
func (l *Ledger) Scope(ctx context.Context, rule, scope string) (ledger.ScopeState, error) {
	s := rows.Scope{Rule: rule, Name: scope}
	found, err := one(ctx, l.read, "scope", []any{rule, scope, l.clock()}, s.Columns()...)
	if err != nil {
		return ledger.ScopeState{}, fmt.Errorf("ledger: %w", err)
	}
	if !found {
		return ledger.ScopeState{}, notKnown(rule, scope)
	}
	return s.State()
}

func notKnown(rule, scope string) error {
	return fmt.Errorf("%w: rule %q in scope %q", ledger.ErrNotFound, rule, scope)
}

// Claim implements ledger.Firings.
func (l *Ledger) Claim(ctx context.Context, rule, scope string, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	c := ledger.Claim{Rule: rule, Scope: scope, Node: node}
	err := l.inTx(ctx, "claim", func(tx *sql.Tx) error {
		var err error
		if c.Token, err = take(ctx, tx, "token", 1); err != nil {
			return err
		}
		now := l.now()
		until := rows.Lease(now, lease)
		var dueAt int64
		got, err := one(ctx, tx, "claim",
			[]any{rule, scope, rows.Micros(due), node, until, now.UnixMicro(), c.Token}, &dueAt, &c.Repeated)
		if err == nil && !got {
			err = errNothing
		}
		c.Due, c.LeaseUntil = rows.Time(dueAt), rows.Time(until)
		return err
	})
	if errors.Is(err, errNothing) {
		return ledger.Claim{}, l.whyNot(ctx, rule, scope, due)
	}
	if err != nil {
		return ledger.Claim{}, err
	}
	return c, nil
}

// take returns the last of n new numbers.
func take(ctx context.Context, tx *sql.Tx, name string, n int) (int64, error) {
	var last int64
	_, err := one(ctx, tx, "take-number", []any{name, n}, &last)
	return last, err
}

// whyNot finds out why a claim was refused.
func (l *Ledger) whyNot(ctx context.Context, rule, scope string, due time.Time) error {
	s, err := l.Scope(ctx, rule, scope)
	if err != nil {
		return err
	}
	if !s.Done.Before(due) {
		return ledger.ErrDone
	}
	return ledger.ErrBusy
}

// Renew implements ledger.Firings.
func (l *Ledger) Renew(ctx context.Context, c ledger.Claim, lease time.Duration) error {
	return fencedIfNone(l.exec(ctx, "renew", c.Rule, c.Scope, c.Token, rows.Micros(c.Due), l.until(lease)))
}

// Release implements ledger.Firings.
func (l *Ledger) Release(ctx context.Context, c ledger.Claim) error {
	return l.inTx(ctx, "release", func(tx *sql.Tx) error {
		next, err := take(ctx, tx, "token", 1)
		if err != nil {
			return err
		}
		return fencedIfNone(exec(ctx, tx, "release", c.Rule, c.Scope, c.Token, rows.Micros(c.Due), next))
	})
}

func fencedIfNone(n int64, err error) error {
	if err == nil && n == 0 {
		return ledger.ErrFenced
	}
	return err
}

// Abandoned implements ledger.Firings.
func (l *Ledger) Abandoned(ctx context.Context) ([]ledger.Claim, error) {
	var out []ledger.Claim
	c := ledger.Claim{Repeated: true}
	var due, until int64
	err := each(ctx, l.read, "abandoned", []any{l.clock()}, []any{&c.Rule, &c.Scope, &due, &c.Node, &c.Token, &until},
		func() error {
			c.Due, c.LeaseUntil = rows.Time(due), rows.Time(until)
			out = append(out, c)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// Skip implements ledger.Firings.
func (l *Ledger) Skip(ctx context.Context, rule, scope string, due time.Time, node, reason string) error {
	return l.leaveOut(ctx, "skip", rule, scope, due, node, reason)
}

// Findings implements ledger.Firings.
func (l *Ledger) Findings(ctx context.Context, rule, scope string) ([]finding.State, error) {
	var out []finding.State
	var f rows.Finding
	err := each(ctx, l.read, "findings", []any{rule, scope}, f.Columns(), func() error {
		out = append(out, f.State())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// Notices implements ledger.Firings.
func (l *Ledger) Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error) {
	found := make(map[string]*notice.Notice, len(ids))
	var body sql.RawBytes
	err := each(ctx, l.read, "notices", []any{list(ids)}, []any{&body}, func() error {
		n, err := notice.Unmarshal(body)
		if err == nil {
			found[n.ID] = n
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return found, nil
}

// Forget implements ledger.Firings.
func (l *Ledger) Forget(ctx context.Context, known map[string]bool) (int64, error) {
	var n int64
	err := l.inTx(ctx, "forget", func(tx *sql.Tx) error {
		var gone []int64
		var id int64
		var rule, scope string
		err := each(ctx, tx, "scopes", nil, []any{&id, &rule, &scope}, func() error {
			if !known[ledger.Known(rule, scope)] {
				gone = append(gone, id)
			}
			return nil
		})
		if err != nil || len(gone) == 0 {
			return err
		}
		if _, err := exec(ctx, tx, "forget-findings", list(gone)); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, "forget-plans", list(gone)); err != nil {
			return err
		}
		n, err = exec(ctx, tx, "forget", list(gone))
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

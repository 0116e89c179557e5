package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/notice"
)

// Register implements ledger.Firings.
func (l *Ledger) Register(ctx context.Context, rule, scope string, now time.Time) (ledger.ScopeState, error) {
	// Asking first keeps restarts from using up ids.
	s, err := l.Scope(ctx, rule, scope)
	if !errors.Is(err, ledger.ErrNotFound) {
		return s, err
	}
	if _, err := l.exec(ctx, "register", rule, scope, rows.Micros(now)); err != nil {
		return ledger.ScopeState{}, err
	}
	return l.Scope(ctx, rule, scope)
}

// Scope implements ledger.Firings.
func (l *Ledger) Scope(ctx context.Context, rule, scope string) (ledger.ScopeState, error) {
	s := rows.Scope{Rule: rule, Name: scope}
	err := l.pool.QueryRow(ctx, queries.Get("scope"), rule, scope, l.clock()).Scan(s.Columns()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.ScopeState{}, notKnown(rule, scope)
	}
	if err != nil {
		return ledger.ScopeState{}, failed("scope", err)
	}
	return s.State()
}

func notKnown(rule, scope string) error {
	return fmt.Errorf("%w: rule %q in scope %q", ledger.ErrNotFound, rule, scope)
}

// Claim implements ledger.Firings.
func (l *Ledger) Claim(ctx context.Context, rule, scope string, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	c := ledger.Claim{Rule: rule, Scope: scope, Node: node}
	var dueAt, until int64
	err := l.pool.QueryRow(ctx, queries.Get("claim"), rule, scope, rows.Micros(due), node, lease.Microseconds(), l.clock()).
		Scan(&c.Token, &dueAt, &until, &c.Repeated)
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.Claim{}, l.whyNot(ctx, rule, scope, due)
	}
	if err != nil {
		return ledger.Claim{}, failed("claim", err)
	}
	c.Due, c.LeaseUntil = rows.Time(dueAt), rows.Time(until)
	return c, nil
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
	n, err := l.exec(ctx, "renew", c.Rule, c.Scope, c.Token, rows.Micros(c.Due), lease.Microseconds(), l.clock())
	return fencedIfNone(n, err)
}

// Release implements ledger.Firings.
func (l *Ledger) Release(ctx context.Context, c ledger.Claim) error {
	n, err := l.exec(ctx, "release", c.Rule, c.Scope, c.Token, rows.Micros(c.Due))
	return fencedIfNone(n, err)
}

func fencedIfNone(n int64, err error) error {
	if err == nil && n == 0 {
		return ledger.ErrFenced
	}
	return err
}

// Abandoned implements ledger.Firings.
func (l *Ledger) Abandoned(ctx context.Context) ([]ledger.Claim, error) {
	return query(ctx, l, "abandoned", func(r pgx.CollectableRow) (ledger.Claim, error) {
		c := ledger.Claim{Repeated: true}
		var due, until int64
		err := r.Scan(&c.Rule, &c.Scope, &due, &c.Node, &c.Token, &until)
		c.Due, c.LeaseUntil = rows.Time(due), rows.Time(until)
		return c, err
	}, l.clock())
}

// Skip implements ledger.Firings.
func (l *Ledger) Skip(ctx context.Context, rule, scope string, due time.Time, node, reason string) error {
	return l.leaveOut(ctx, "skip", rule, scope, due, node, reason)
}

// Findings implements ledger.Firings.
func (l *Ledger) Findings(ctx context.Context, rule, scope string) ([]finding.State, error) {
	return query(ctx, l, "findings", func(r pgx.CollectableRow) (finding.State, error) {
		var f rows.Finding
		err := r.Scan(f.Columns()...)
		return f.State(), err
	}, rule, scope)
}

// Notices implements ledger.Firings.
func (l *Ledger) Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error) {
	list, err := query(ctx, l, "notices", func(r pgx.CollectableRow) (*notice.Notice, error) {
		var id string
		var body []byte
		if err := r.Scan(&id, &body); err != nil {
			return nil, err
		}
		return notice.Unmarshal(body)
	}, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*notice.Notice, len(list))
	for _, n := range list {
		found[n.ID] = n
	}
	return found, nil
}

// Forget implements ledger.Firings.
func (l *Ledger) Forget(ctx context.Context, known map[string]bool) (int64, error) {
	var gone []int32
	var id int32
	var rule, scope string
	found, err := l.pool.Query(ctx, queries.Get("scopes"))
	if err != nil {
		return 0, failed("forget", err)
	}
	_, err = pgx.ForEachRow(found, []any{&id, &rule, &scope}, func() error {
		if !known[ledger.Known(rule, scope)] {
			gone = append(gone, id)
		}
		return nil
	})
	if err != nil || len(gone) == 0 {
		if err != nil {
			err = failed("forget", err)
		}
		return 0, err
	}
	return l.exec(ctx, "forget", gone)
}

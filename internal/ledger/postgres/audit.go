package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// change runs do, which changes what operators set, and writes the record that do returns, in one transaction. Of nil nothing is recorded:
// nothing was changed. One such transaction runs at a time on all nodes, so that do sees what was changed before, and records have the order of their changes.
func (l *Ledger) change(ctx context.Context, what string, who ledger.Author, do func(pgx.Tx) (*ledger.Change, error)) error {
	return l.recording(who, func(record recorder) error {
		return l.inTx(ctx, what, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, queries.Get("lock-audit")); err != nil {
				return err
			}
			c, err := do(tx)
			if err != nil {
				return err
			}
			return record(ctx, tx, c)
		})
	})
}

// recorder writes the record of what a transaction has changed, in the transaction. Of nil nothing is recorded.
type recorder func(ctx context.Context, tx execer, c *ledger.Change) error

// recording runs a transaction, which is to call the recorder last, and tells the steps of a change.
func (l *Ledger) recording(who ledger.Author, run func(record recorder) error) error {
	recorded := false
	err := run(func(ctx context.Context, tx execer, c *ledger.Change) error {
		if c == nil {
			return nil
		}
		l.step(ledger.StepChanged)
		if err := l.addRecord(ctx, tx, who, c); err != nil {
			return err
		}
		recorded = true
		l.step(ledger.StepRecorded)
		return nil
	})
	if recorded && err == nil {
		l.step(ledger.StepCommitted)
	}
	return err
}

// execer is a transaction, or a connection in the middle of one.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// addRecord writes the record of what the transaction has changed.
func (l *Ledger) addRecord(ctx context.Context, tx execer, who ledger.Author, c *ledger.Change) error {
	if err := who.Check(); err != nil {
		return err
	}
	c.By, c.Via = who.By, who.Via
	if _, err := tx.Exec(ctx, queries.Get("add-change"), append([]any{l.clock()}, rows.ChangeArgs(c)...)...); err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrNotRecorded, err)
	}
	return nil
}

// one runs the query by name for one row; nil where there is none.
func one[T any](ctx context.Context, tx pgx.Tx, name string, scan pgx.RowToFunc[T], args ...any) (*T, error) {
	found, err := tx.Query(ctx, queries.Get(name), args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	v, err := pgx.CollectOneRow(found, scan)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &v, nil
}

// AddChange implements ledger.Audit.
func (l *Ledger) AddChange(ctx context.Context, c *ledger.Change) error {
	return l.change(ctx, "add change", ledger.Author{By: c.By, Via: c.Via}, func(pgx.Tx) (*ledger.Change, error) { return c, nil })
}

// Changes implements ledger.Audit.
func (l *Ledger) Changes(ctx context.Context, f ledger.ChangeFilter) (list []ledger.Change, more bool, err error) {
	found, err := query(ctx, l, "changes", func(r pgx.CollectableRow) (rows.Change, error) {
		var c rows.Change
		return c, r.Scan(c.Columns()...)
	}, rows.ChangesArgs(&f)...)
	if err != nil {
		return nil, false, err
	}
	list, more = rows.Changes(found, f.Limit)
	return list, more, nil
}

// TakeRules implements ledger.RuleVersions.
func (l *Ledger) TakeRules(ctx context.Context, who ledger.Author, from int64, v *ledger.RulesVersion) (recorded bool, err error) {
	err = l.change(ctx, "take rules", who, func(tx pgx.Tx) (*ledger.Change, error) {
		recorded = false
		last, err := one(ctx, tx, "last-rules", pgx.RowToStructByPos[rows.RulesPlace])
		if err != nil {
			return nil, err
		}
		if last == nil {
			last = &rows.RulesPlace{}
		} else if last.Version == v.Version {
			return nil, nil //nolint:nilnil // it is recorded
		}
		var known bool
		if err := tx.QueryRow(ctx, queries.Get("has-rules"), v.Version, from).Scan(&known); err != nil || known {
			return nil, err
		}
		if _, err := tx.Exec(ctx, queries.Get("take-rules"), last.Place+1, v.Version); err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, queries.Get("count-rules"), last.Place+1); err != nil {
			return nil, err
		}
		recorded = true
		return record.RulesTaken(last.Version, v), nil
	})
	return recorded && err == nil, err
}

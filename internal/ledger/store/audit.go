package store

import (
	"context"
	"fmt"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// AddChange implements ledger.Audit.
func (s *Store) AddChange(ctx context.Context, c *ledger.Change) error {
	return s.change(ctx, "add change", ledger.Author{By: c.By, Via: c.Via}, func(Conn) (*ledger.Change, error) { return c, nil })
}

// Changes implements ledger.Audit.
func (s *Store) Changes(ctx context.Context, f ledger.ChangeFilter) (page []ledger.Change, more bool, err error) {
	var row rows.Change
	found, err := list(ctx, s.db, "changes", rows.ChangesArgs(&f), row.Columns(), func() (rows.Change, error) { return row, nil })
	if err != nil {
		return nil, false, err
	}
	page, more = rows.Changes(found, f.Limit)
	return page, more, nil
}

// TakeRules implements ledger.RuleVersions.
func (s *Store) TakeRules(ctx context.Context, who ledger.Author, from int64, v *ledger.RulesVersion) (recorded bool, err error) {
	err = s.change(ctx, "take rules", who, func(tx Conn) (*ledger.Change, error) {
		recorded = false
		var last rows.RulesPlace
		found, err := tx.One(ctx, "last-rules", nil, &last.Place, &last.Version)
		if err != nil || found && last.Version == v.Version {
			return nil, err
		}
		var known bool
		if _, err := tx.One(ctx, "has-rules", []any{v.Version, from}, &known); err != nil || known {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "take-rules", last.Place+1, v.Version); err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "count-rules", last.Place+1); err != nil {
			return nil, err
		}
		recorded = true
		return record.RulesTaken(last.Version, v), nil
	})
	return recorded && err == nil, err
}

// Recorder writes the records of changes and tells the steps; see ledger.Options.Step.
type Recorder struct {
	clock func() *int64
	step  func(string)
}

// Record writes the record of what a transaction has changed, in the transaction. Of nil nothing is recorded.
type Record func(ctx context.Context, tx Conn, c *ledger.Change) error

// Run runs a transaction, which is to call the record last.
func (r *Recorder) Run(who ledger.Author, run func(record Record) error) error {
	recorded := false
	err := run(func(ctx context.Context, tx Conn, c *ledger.Change) error {
		recorded = false // the transaction may be run again
		if c == nil {
			return nil
		}
		r.step(ledger.StepChanged)
		if err := r.write(ctx, tx, who, c); err != nil {
			return err
		}
		recorded = true
		return nil
	})
	if recorded && err == nil {
		r.step(ledger.StepCommitted)
	}
	return err
}

// RecordOrders writes the records of the orders that have led to moves of items, in the transaction of the moves.
type RecordOrders func(ctx context.Context, tx Conn, orders []*item.Change) error

// RunOrders runs a transaction that applies the moves of items, and is to call record last.
func (r *Recorder) RunOrders(run func(record RecordOrders) error) error {
	recorded := false
	err := run(func(ctx context.Context, tx Conn, orders []*item.Change) error {
		if len(orders) > 0 {
			r.step(ledger.StepChanged)
		}
		for _, o := range orders {
			who, c := record.QueueChanged(o)
			if err := r.write(ctx, tx, who, c); err != nil {
				return err
			}
			recorded = true
		}
		return nil
	})
	if recorded && err == nil {
		r.step(ledger.StepCommitted)
	}
	return err
}

func (r *Recorder) write(ctx context.Context, tx Conn, who ledger.Author, c *ledger.Change) error {
	if err := who.Check(); err != nil {
		return err
	}
	c.By, c.Via = who.By, who.Via
	if _, err := tx.Exec(ctx, "add-change", append([]any{r.clock()}, rows.ChangeArgs(c)...)...); err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrNotRecorded, err)
	}
	r.step(ledger.StepRecorded)
	return nil
}

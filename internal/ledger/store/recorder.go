package store

import (
	"context"
	"fmt"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

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

package sqlite

import (
	"context"
	"database/sql"
	"time"

	"tallyman/internal/ledger/codec"
)

// pruneBatch bounds how many notices, firings, items or expired deliveries one transaction of Prune handles. pruneBatch
// is small because commits wait for the transaction.
const pruneBatch = 500

// PruneBatch implements store.Pruner.
func (e engine) PruneBatch() int { return pruneBatch }

// ExpireDeliveries implements store.Pruner.
func (e engine) ExpireDeliveries(ctx context.Context, seqs []int64) error {
	return e.inTx(ctx, "expire deliveries", func(tx *sql.Tx) error {
		_, err := e.cancelPending(ctx, tx, seqs, "the notice has expired")
		return err
	})
}

// PruneNotices implements store.Pruner.
func (e engine) PruneNotices(ctx context.Context, before time.Time) (notices, all int64, err error) {
	err = e.inTx(ctx, "prune", func(tx *sql.Tx) error {
		var old string
		if _, err := one(ctx, tx, "old-notices", []any{codec.Micros(before), pruneBatch, e.nowMicros()}, &old); err != nil {
			return err
		}
		for _, name := range []string{"prune-pushes", "prune-marks"} {
			if _, err := exec(ctx, tx, name, old); err != nil {
				return err
			}
		}
		deliveries, err := exec(ctx, tx, "prune-deliveries", old)
		if err != nil {
			return err
		}
		notices, err = exec(ctx, tx, "prune-notices", old)
		all = notices + deliveries
		return err
	})
	return notices, all, err
}

// DropDays implements store.Pruner. The file has no partitions.
func (e engine) DropDays(context.Context, time.Time) error { return nil }

// PruneItems implements store.Pruner.
func (e engine) PruneItems(ctx context.Context, queue, after int64, before time.Time) (last int64, more bool, gone int64, err error) {
	p := itemPage{queue: queue, after: after}
	err = e.inTx(ctx, "prune", func(tx *sql.Tx) error { return p.prune(ctx, tx, codec.Micros(before), e.nowMicros()) })
	return p.after, p.more, p.gone, err
}

// itemPage reads the items of a queue page by page.
type itemPage struct {
	queue, after int64
	gone         int64 // removed items of the page
	more         bool  // The page had an old item.
}

func (p *itemPage) prune(ctx context.Context, tx *sql.Tx, before, now int64) error {
	var may []int64
	var seq int64
	var old, ended bool
	p.more = false
	err := each(ctx, tx, "old-items", []any{p.queue, p.after, pruneBatch, before, now}, []any{&seq, &old, &ended}, func() error {
		p.after = seq
		p.more = p.more || old
		if ended {
			may = append(may, seq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := exec(ctx, tx, "prune-item-moves", may); err != nil {
		return err
	}
	if _, err := exec(ctx, tx, "prune-ended-early", p.queue, may); err != nil {
		return err
	}
	p.gone, err = exec(ctx, tx, "prune-items", may)
	return err
}

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger/codec"
)

// pruneBatch bounds how many rows one statement selects. Rows that belong to a selected notice or item are removed with
// it.
const pruneBatch = 2000

// PruneBatch implements store.Pruner.
func (e engine) PruneBatch() int { return pruneBatch }

// ExpireDeliveries implements store.Pruner.
func (e engine) ExpireDeliveries(ctx context.Context, seqs []int64) error {
	var changed []int64
	begin := func(b *pgx.Batch) { beginCancel(b, seqs, "the notice has expired", &changed) }
	return e.inShortTx(ctx, "expire deliveries", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
		e.releaseNext(last, seqs, laneEnds{})
		return nil
	})
}

// PruneNotices implements store.Pruner.
func (e engine) PruneNotices(ctx context.Context, before time.Time) (notices, all int64, err error) {
	var deliveries int64
	_, err = e.One(ctx, "prune-notices", []any{codec.Micros(before), pruneBatch, e.NowArg()}, &notices, &deliveries)
	return notices, notices + deliveries, err
}

// PruneItems implements store.Pruner.
func (e engine) PruneItems(ctx context.Context, queue, after int64, before time.Time) (last int64, more bool, gone int64, err error) {
	args := []any{queue, after, pruneBatch, codec.Micros(before), e.NowArg()}
	err = e.EachPlanned(ctx, "by-key", "prune-items", args, []any{&last, &more, &gone}, func() error { return nil })
	return last, more, gone, err
}

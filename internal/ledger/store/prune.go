package store

import (
	"context"
	"time"

	"tallyman/internal/ledger/codec"
)

// Pruner is the part of pruning that each engine implements itself, in short transactions.
type Pruner interface {
	// PruneBatch bounds how many notices, firings, items or expired deliveries one transaction handles. The deliveries
	// and marks of a removed notice do not count, nor do the moves of a removed item.
	PruneBatch() int
	// ExpireDeliveries cancels deliveries whose notices have expired. No operator asked for that, so there is no
	// audit record.
	ExpireDeliveries(ctx context.Context, seqs []int64) error
	// PruneNotices removes one batch of notices outside the partitions of days, with their deliveries and marks.
	// PruneNotices returns the number of notices, and of all rows.
	PruneNotices(ctx context.Context, before time.Time) (notices, all int64, err error)
	// DropDays drops the partitions of days before the given time: notices with their deliveries and marks, past
	// runs, and moves of items. A few of their rows stay: notices that PruneNotices would not remove, and moves of
	// items that PruneItems has left. DropDays also makes the partitions of the next days.
	DropDays(ctx context.Context, before time.Time) error
	// PruneItems reads one page of the queue's items behind a seq and removes the items that ended before the given
	// time. PruneItems returns the last seq of the page, whether any item of the page is old, and how many items it
	// removed.
	PruneItems(ctx context.Context, queue, after int64, before time.Time) (last int64, more bool, gone int64, err error)
}

// keepBranches is how much longer branches are kept than pruned records. A Redis that was away for longer looks as if
// it knew more than the ledger.
const keepBranches = 400 * 24 * time.Hour

// pruner is ledger.Pruner.
type pruner struct{ *base }

// Prune implements ledger.Pruner.
func (s *pruner) Prune(ctx context.Context, before time.Time, keepRuns int) (removed int64, err error) {
	if err := s.expireDeliveries(ctx, before); err != nil {
		return 0, err
	}
	for _, prune := range []func() (int64, error){
		func() (int64, error) { return s.pruneNotices(ctx, before) },
		func() (int64, error) { return s.pruneItems(ctx, before) },
		func() (int64, error) { return 0, s.db.DropDays(ctx, before) },
		func() (int64, error) { return 0, s.pruneReads(ctx, before) },
		func() (int64, error) { return s.db.Exec(ctx, "prune-silences", codec.Micros(before)) },
		func() (int64, error) {
			return s.db.Exec(ctx, "prune-branches", codec.Micros(before.Add(-keepBranches)))
		},
		func() (int64, error) { return s.db.Exec(ctx, "prune-withheld") },
		func() (int64, error) { return s.pruneFirings(ctx, keepRuns) },
		func() (int64, error) { return s.db.Exec(ctx, "prune-old-firings", codec.Micros(before)) },
	} {
		n, err := prune()
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// expireDeliveries cancels pending deliveries whose notice expired long ago. A delivery with until: sent stays, and
// so does its notice.
func (s *pruner) expireDeliveries(ctx context.Context, before time.Time) error {
	for {
		var seq int64
		args := []any{codec.Micros(before), s.db.PruneBatch(), s.NowArg()}
		expired, err := list(ctx, s.db, "long-expired", args, []any{&seq}, func() (int64, error) { return seq, nil })
		if err != nil || len(expired) == 0 {
			return err
		}
		if err := s.db.ExpireDeliveries(ctx, expired); err != nil {
			return err
		}
	}
}

func (s *pruner) pruneNotices(ctx context.Context, before time.Time) (removed int64, err error) {
	for {
		notices, all, err := s.db.PruneNotices(ctx, before)
		removed += all
		if err != nil || notices < int64(s.db.PruneBatch()) {
			return removed, err
		}
	}
}

// pruneReads removes watermarks that have not risen since the given time and cover no unexpired notice. Prune does not
// count these rows.
func (s *pruner) pruneReads(ctx context.Context, before time.Time) error {
	_, err := s.db.Exec(ctx, "prune-reads", codec.Micros(before), s.NowArg())
	return err
}

// pruneItems removes the items that ended before the given time, queue by queue. Items lie roughly in the order of
// their creation. So it stops at a page without old items: hardly any follow.
func (s *pruner) pruneItems(ctx context.Context, before time.Time) (removed int64, err error) {
	var id int64
	queues, err := list(ctx, s.db, "queue-ids", nil, []any{&id}, func() (int64, error) { return id, nil })
	if err != nil {
		return 0, err
	}
	for _, queue := range queues {
		after, more := int64(0), true
		for more {
			var gone int64
			after, more, gone, err = s.db.PruneItems(ctx, queue, after, before)
			removed += gone
			if err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// pruneFirings removes all but the last keepRuns firings of each rule and scope.
func (s *pruner) pruneFirings(ctx context.Context, keepRuns int) (removed int64, err error) {
	for {
		n, err := s.db.Exec(ctx, "prune-firings", max(keepRuns, 1), s.db.PruneBatch())
		removed += n
		if err != nil || n < int64(s.db.PruneBatch()) {
			return removed, err
		}
	}
}

package sqlite

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// IndexState implements ledger.IndexRecord.
func (l *Ledger) IndexState(ctx context.Context, sink string) (ledger.IndexState, error) {
	var s ledger.IndexState
	var ids string
	var lease int64
	found, err := one(ctx, l.read, "index-state", []any{sink}, &s.Epoch, &ids, &s.Building, &s.Node, &lease)
	if err != nil {
		return s, fmt.Errorf("ledger: %w", err)
	}
	if !found {
		return s, fmt.Errorf("%w: the epoch of sink %q", ledger.ErrNotFound, sink)
	}
	s.Lease = rows.Time(lease)
	s.RunIDs, err = rows.ParseTexts(ids)
	return s, err
}

// BeginEpoch implements ledger.IndexRecord.
func (l *Ledger) BeginEpoch(ctx context.Context, sink, prev string, next ledger.IndexState, node string, lease time.Duration) error {
	args := []any{sink, next.Epoch, rows.Texts(next.RunIDs), node, l.until(lease)}
	if prev == "" {
		return fencedIfNone(l.exec(ctx, "first-epoch", args...))
	}
	return fencedIfNone(l.exec(ctx, "next-epoch", append(args, l.clock(), prev)...))
}

// FinishEpoch implements ledger.IndexRecord.
func (l *Ledger) FinishEpoch(ctx context.Context, sink, epoch string) error {
	return fencedIfNone(l.exec(ctx, "finish-epoch", sink, epoch))
}

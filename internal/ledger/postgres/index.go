package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// IndexState implements ledger.IndexRecord.
func (l *Ledger) IndexState(ctx context.Context, sink string) (ledger.IndexState, error) {
	var s ledger.IndexState
	var ids string
	var left int64
	now := time.Now
	if l.now != nil {
		now = l.now
	}
	err := l.pool.QueryRow(ctx, queries.Get("index-state"), sink, l.clock()).Scan(&s.Epoch, &ids, &s.Building, &s.Node, &left)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, fmt.Errorf("%w: the epoch of sink %q", ledger.ErrNotFound, sink)
	}
	if err != nil {
		return s, failed("index state", err)
	}
	s.Lease = now().Add(time.Duration(left) * time.Microsecond)
	s.RunIDs, err = rows.ParseTexts(ids)
	return s, err
}

// BeginEpoch implements ledger.IndexRecord.
func (l *Ledger) BeginEpoch(ctx context.Context, sink, prev string, next ledger.IndexState, node string, lease time.Duration) error {
	args := []any{sink, next.Epoch, rows.Texts(next.RunIDs), node, lease.Microseconds(), l.clock()}
	if prev == "" {
		return fencedIfNone(l.exec(ctx, "first-epoch", args...))
	}
	return fencedIfNone(l.exec(ctx, "next-epoch", append(args, prev)...))
}

// FinishEpoch implements ledger.IndexRecord.
func (l *Ledger) FinishEpoch(ctx context.Context, sink, epoch string) error {
	return fencedIfNone(l.exec(ctx, "finish-epoch", sink, epoch))
}

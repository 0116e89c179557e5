package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
)

// laneIDs returns the ids of the lanes, making those that are new. That is a transaction of its own: a lane
// without deliveries does no harm, and commits do not wait for each other's new lanes.
func (l *Ledger) laneIDs(ctx context.Context, lanes []ledger.Lane) ([]int32, error) {
	ids := make([]int32, len(lanes))
	for i, lane := range lanes {
		id, err := l.laneID(ctx, lane)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

func (l *Ledger) laneID(ctx context.Context, lane ledger.Lane) (int32, error) {
	id, err := l.findLane(ctx, lane)
	if !errors.Is(err, ledger.ErrNotFound) {
		return id, err
	}
	if _, err := l.exec(ctx, "add-lane", lane.Sink, lane.Warehouse); err != nil {
		return 0, err
	}
	return l.findLane(ctx, lane)
}

// findLane returns the id of the lane, which it remembers. ErrNotFound.
func (l *Ledger) findLane(ctx context.Context, lane ledger.Lane) (int32, error) {
	l.mu.Lock()
	id, ok := l.lanes[lane]
	l.mu.Unlock()
	if ok {
		return id, nil
	}
	err := l.pool.QueryRow(ctx, queries.Get("lane"), lane.Sink, lane.Warehouse).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, ledger.ErrNotFound
	}
	if err != nil {
		return 0, failed("lane", err)
	}
	l.mu.Lock()
	l.lanes[lane] = id
	l.mu.Unlock()
	return id, nil
}

// PendingLanes implements ledger.Deliveries.
func (l *Ledger) PendingLanes(ctx context.Context, sink string) ([]ledger.Lane, error) {
	return query(ctx, l, "pending-lanes", func(r pgx.CollectableRow) (ledger.Lane, error) {
		lane := ledger.Lane{Sink: sink}
		err := r.Scan(&lane.Warehouse)
		return lane, err
	}, sink, l.clock())
}

// AcquireLane implements ledger.Deliveries.
func (l *Ledger) AcquireLane(ctx context.Context, lane ledger.Lane, node string, lease time.Duration) (bool, error) {
	id, err := l.laneID(ctx, lane)
	if err != nil {
		return false, err
	}
	n, err := l.exec(ctx, "acquire-lane", id, node, lease.Microseconds(), l.clock())
	return n == 1, err
}

// ReleaseLane implements ledger.Deliveries.
func (l *Ledger) ReleaseLane(ctx context.Context, lane ledger.Lane, node string) error {
	_, err := l.exec(ctx, "release-lane", lane.Sink, lane.Warehouse, node)
	return err
}

package enginetest

import (
	"context"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// deliveryRow is one delivery in the ledger.
type deliveryRow struct {
	delivery.Delivery
	lane     delivery.Lane
	state    ledger.DeliveryState
	attempts int
	marks    int                // how often it was marked sent
	strategy *delivery.Strategy // of a push channel
	edit     func(*ledger.DeliveryRecord)
}

type laneLock struct {
	node  string
	until time.Time
}

func (l *Ledger) heldLane(lane delivery.Lane) bool { return time.Now().Before(l.lanes[lane].until) }

// PendingLanes returns the lanes of the sink with something pending that nobody drains.
func (l *Ledger) PendingLanes(ctx context.Context, sink string) ([]delivery.Lane, error) {
	leave, err := l.enter(ctx, "PendingLanes")
	if err != nil {
		return nil, err
	}
	defer leave()
	var lanes []delivery.Lane
	for _, d := range l.delivery {
		if d.lane.Sink == sink && d.state == ledger.DeliveryPending && !l.heldLane(d.lane) && !slices.Contains(lanes, d.lane) {
			lanes = append(lanes, d.lane)
		}
	}
	return lanes, nil
}

// AcquireLane takes or keeps the lane.
func (l *Ledger) AcquireLane(ctx context.Context, lane delivery.Lane, node string, lease time.Duration) (bool, error) {
	leave, err := l.enter(ctx, "AcquireLane")
	if err != nil {
		return false, err
	}
	defer leave()
	if l.heldLane(lane) && l.lanes[lane].node != node {
		return false, nil
	}
	l.lanes[lane] = laneLock{node, time.Now().Add(lease)}
	return true, nil
}

// ReleaseLane gives the lane up.
func (l *Ledger) ReleaseLane(ctx context.Context, lane delivery.Lane, node string) error {
	leave, err := l.enter(ctx, "ReleaseLane")
	if err != nil {
		return err
	}
	defer leave()
	if l.lanes[lane].node == node {
		delete(l.lanes, lane)
	}
	return nil
}

// Pending returns what is pending in the lane.
func (l *Ledger) Pending(ctx context.Context, lane delivery.Lane, limit int) ([]delivery.Delivery, error) {
	leave, err := l.enter(ctx, "Pending")
	if err != nil {
		return nil, err
	}
	defer leave()
	var batch []delivery.Delivery
	for _, d := range l.delivery {
		if d.lane == lane && d.state == ledger.DeliveryPending && len(batch) < limit {
			batch = append(batch, d.Delivery)
		}
	}
	return batch, nil
}

// MarkSent records the receipts.
func (l *Ledger) MarkSent(ctx context.Context, receipts []delivery.Receipt) error {
	leave, err := l.enter(ctx, "MarkSent")
	if err != nil {
		return err
	}
	defer leave()
	for _, r := range receipts {
		d := l.delivery[r.Seq-1]
		d.state = ledger.DeliverySent
		d.marks++
	}
	return nil
}

// MarkAttempt counts a failed attempt.
func (l *Ledger) MarkAttempt(ctx context.Context, seqs []int64, _ string) error {
	leave, err := l.enter(ctx, "MarkAttempt")
	if err != nil {
		return err
	}
	defer leave()
	for _, seq := range seqs {
		l.delivery[seq-1].attempts++
	}
	return nil
}

// MarkFailed ends deliveries.
func (l *Ledger) MarkFailed(ctx context.Context, seqs []int64, _ string) error {
	leave, err := l.enter(ctx, "MarkFailed")
	if err != nil {
		return err
	}
	defer leave()
	for _, seq := range seqs {
		l.delivery[seq-1].state = ledger.DeliveryFailed
	}
	return nil
}

// Unsent returns the number of deliveries that are pending.
func (l *Ledger) Unsent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, d := range l.delivery {
		if d.state == ledger.DeliveryPending {
			n++
		}
	}
	return n
}

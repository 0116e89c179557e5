package enginetest

import (
	"context"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
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

// Push is a delivery to a push channel.
type Push struct {
	Notice   *notice.Notice
	Strategy delivery.Strategy
	State    ledger.DeliveryState
}

// Pushes returns the deliveries to the push channel, in the order of their commits.
func (l *Ledger) Pushes(sink string) []Push {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Push
	for _, d := range l.delivery {
		if d.lane.Sink == sink && d.strategy != nil {
			list = append(list, Push{d.Notice, *d.strategy, d.state})
		}
	}
	return list
}

// ListDeliveries returns the deliveries of a notice in the states, the latest first. It heeds no other filter.
func (l *Ledger) ListDeliveries(ctx context.Context, f ledger.DeliveryFilter) ([]ledger.DeliveryRecord, error) {
	leave, err := l.enter(ctx, "ListDeliveries")
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []ledger.DeliveryRecord
	for _, d := range slices.Backward(l.delivery) {
		if d.Notice.ID != f.Notice || !slices.Contains(f.States, d.state) || len(list) == f.Limit {
			continue
		}
		r := ledger.DeliveryRecord{
			TracedDelivery: ledger.TracedDelivery{Seq: d.Seq, Lane: d.lane, State: d.state, Attempts: d.attempts, Recipients: d.Recipients},
			Notice:         d.Notice.ID, Strategy: d.strategy,
		}
		if d.strategy != nil {
			r.Next, r.Deadline = d.strategy.First(d.Notice.CreatedAt), d.strategy.Deadline(d.Notice.CreatedAt)
		}
		if d.edit != nil {
			d.edit(&r)
		}
		list = append(list, r)
	}
	return list, nil
}

// Tell lets the ledger tell something else of the deliveries to the push channel than what it knows: how they wait.
func (l *Ledger) Tell(sink string, edit func(*ledger.DeliveryRecord)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.delivery {
		if d.lane.Sink == sink {
			d.edit = edit
		}
	}
}

// Try counts an attempt of every pending delivery to the push channel, and ends it as sent, or leaves it pending.
func (l *Ledger) Try(sink string, sent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.delivery {
		if d.lane.Sink == sink && d.strategy != nil && d.state == ledger.DeliveryPending {
			d.attempts++
			if sent {
				d.state = ledger.DeliverySent
			}
		}
	}
}

// waiting returns the pending deliveries to push channels of the notice's finding; of a digest those of itself.
func (l *Ledger) waiting(id string) (list []*deliveryRow) {
	of := l.notices[id]
	if of == nil {
		return nil
	}
	for _, d := range l.delivery {
		n := d.Notice
		finding := !notice.IsDigest(id) && !notice.IsDigest(n.ID) && n.Rule == of.Rule && n.Scope == of.Scope && n.Key == of.Key
		if d.strategy != nil && d.state == ledger.DeliveryPending && (n.ID == id || finding) {
			list = append(list, d)
		}
	}
	return list
}

// over cancels what waits under unless: resolved for the findings of the notices.
func (l *Ledger) over(ids []string) {
	for _, id := range ids {
		for _, d := range l.waiting(id) {
			if d.strategy.Unless == delivery.UnlessResolved {
				d.state = ledger.DeliveryCanceled
			}
		}
	}
}

// tried tells whether the notice was sent in the lane, or is being tried. Where it still waits it is canceled, and so are earlier ones of
// its finding.
func (l *Ledger) tried(id string, lane delivery.Lane) bool {
	tried := false
	for _, d := range l.delivery {
		if d.Notice.ID == id && d.lane == lane && (d.state == ledger.DeliverySent || d.state == ledger.DeliveryPending && d.attempts > 0) {
			tried = true
		}
	}
	for _, d := range l.waiting(id) {
		if !tried && d.lane == lane && d.attempts == 0 {
			d.state = ledger.DeliveryCanceled
		}
	}
	return tried
}

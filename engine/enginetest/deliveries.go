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
	ledger.DeliveryTrace

	Notice   *notice.Notice
	strategy *delivery.Strategy // Set for a push channel.
	edit     func(*ledger.DeliveryRecord)
}

type laneLock struct {
	node  string
	until time.Time
}

func (l *deliveryStore) heldLane(lane delivery.Lane) bool { return l.now().Before(l.lanes[lane].until) }

// PendingLanes returns the lanes of the sink with pending deliveries that no node drains.
func (l *deliveryStore) PendingLanes(ctx context.Context, sink string) ([]delivery.Lane, error) {
	leave, err := l.enter(ctx, "PendingLanes")
	if err != nil {
		return nil, err
	}
	defer leave()
	var lanes []delivery.Lane
	for _, d := range l.delivery {
		if d.Lane.Sink == sink && d.State == ledger.DeliveryPending && !l.heldLane(d.Lane) && !slices.Contains(lanes, d.Lane) {
			lanes = append(lanes, d.Lane)
		}
	}
	return lanes, nil
}

// AcquireLane takes or keeps the lane.
func (l *deliveryStore) AcquireLane(ctx context.Context, lane delivery.Lane, node string, lease time.Duration) (bool, error) {
	leave, err := l.enter(ctx, "AcquireLane")
	if err != nil {
		return false, err
	}
	defer leave()
	holder := l.lanes[lane].node
	// A session keeps its lane until the session ends.
	if holder != node && (l.heldLane(lane) || l.sessions[holder] != nil) {
		return false, nil
	}
	l.lanes[lane] = laneLock{node, l.now().Add(lease)}
	return true, nil
}

// ReleaseLane frees the lane.
func (l *deliveryStore) ReleaseLane(ctx context.Context, lane delivery.Lane, node string) error {
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

// Pending returns the pending deliveries of the lane.
func (l *deliveryStore) Pending(ctx context.Context, lane delivery.Lane, limit int) ([]delivery.Delivery, error) {
	leave, err := l.enter(ctx, "Pending")
	if err != nil {
		return nil, err
	}
	defer leave()
	var batch []delivery.Delivery
	for _, d := range l.delivery {
		if d.Lane != lane || d.State != ledger.DeliveryPending || len(batch) == limit {
			continue
		}
		if d.Notice.ExpiresAt.After(l.now()) {
			batch = append(batch, delivery.Delivery{Seq: d.Seq, Notice: d.Notice, Recipients: d.Recipients})
		} else {
			d.State = ledger.DeliveryCanceled
		}
	}
	return batch, nil
}

// MarkSent records the receipts.
func (l *deliveryStore) MarkSent(ctx context.Context, node string, receipts []delivery.Receipt, _ delivery.Attempt) error {
	leave, err := l.enter(ctx, "MarkSent")
	if err != nil {
		return err
	}
	defer leave()
	for _, r := range receipts {
		d := l.delivery[r.Seq-1]
		switch {
		case d.State != ledger.DeliveryPending:
		case node != "" && l.lanes[d.Lane].node != node:
			err = ledger.ErrFenced
		default:
			d.State, d.SentAt = ledger.DeliverySent, l.now()
			d.Attempts++
		}
	}
	return err
}

// MarkAttempt counts a failed attempt.
func (l *deliveryStore) MarkAttempt(ctx context.Context, seqs []int64, made delivery.Attempt) error {
	leave, err := l.enter(ctx, "MarkAttempt")
	if err != nil {
		return err
	}
	defer leave()
	for _, seq := range seqs {
		d := l.delivery[seq-1]
		d.Attempts++
		d.LastError = made.Error
	}
	return nil
}

// MarkFailed ends deliveries.
func (l *deliveryStore) MarkFailed(ctx context.Context, seqs []int64, made delivery.Attempt) error {
	leave, err := l.enter(ctx, "MarkFailed")
	if err != nil {
		return err
	}
	defer leave()
	for _, seq := range seqs {
		if d := l.delivery[seq-1]; d.State == ledger.DeliveryPending {
			d.State, d.LastError = ledger.DeliveryFailed, made.Error
			d.Attempts++
		}
	}
	return nil
}

// OldestPending returns for each sink since when its oldest pending delivery waits.
func (l *deliveryStore) OldestPending(ctx context.Context) (map[string]time.Time, error) {
	leave, err := l.enter(ctx, "OldestPending")
	if err != nil {
		return nil, err
	}
	defer leave()
	oldest := map[string]time.Time{}
	for _, d := range l.delivery {
		at, known := oldest[d.Lane.Sink]
		if d.State == ledger.DeliveryPending && (!known || d.Notice.CreatedAt.Before(at)) {
			oldest[d.Lane.Sink] = d.Notice.CreatedAt
		}
	}
	return oldest, nil
}

// CountDeliveries returns the number of deliveries by sink and state.
func (l *deliveryStore) CountDeliveries(ctx context.Context) (map[string]map[ledger.DeliveryState]int64, error) {
	leave, err := l.enter(ctx, "CountDeliveries")
	if err != nil {
		return nil, err
	}
	defer leave()
	counts := map[string]map[ledger.DeliveryState]int64{}
	for _, d := range l.delivery {
		if counts[d.Lane.Sink] == nil {
			counts[d.Lane.Sink] = map[ledger.DeliveryState]int64{}
		}
		counts[d.Lane.Sink][d.State]++
	}
	return counts, nil
}

// Unsent returns the number of deliveries that are pending.
func (l *deliveryStore) Unsent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, d := range l.delivery {
		if d.State == ledger.DeliveryPending {
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
func (l *deliveryStore) Pushes(sink string) []Push {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Push
	for _, d := range l.delivery {
		if d.Lane.Sink == sink && d.strategy != nil {
			list = append(list, Push{d.Notice, *d.strategy, d.State})
		}
	}
	return list
}

// ListDeliveries returns the deliveries of a notice in the states, the latest first. ListDeliveries ignores all other
// filters.
func (l *deliveryStore) ListDeliveries(ctx context.Context, f ledger.DeliveryFilter) ([]ledger.DeliveryRecord, error) {
	leave, err := l.enter(ctx, "ListDeliveries")
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []ledger.DeliveryRecord
	for _, d := range slices.Backward(l.delivery) {
		if d.Notice.ID != f.Notice || !slices.Contains(f.States, d.State) || len(list) == f.Limit {
			continue
		}
		r := ledger.DeliveryRecord{
			DeliveryTrace: d.DeliveryTrace, Notice: d.Notice.ID, Strategy: d.strategy,
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

// Tell makes ListDeliveries pass the records of the push channel's deliveries through edit, so that a test can set how
// deliveries wait.
func (l *deliveryStore) Tell(sink string, edit func(*ledger.DeliveryRecord)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.delivery {
		if d.Lane.Sink == sink {
			d.edit = edit
		}
	}
}

// Try counts an attempt of every pending delivery to the push channel, and ends it as sent, or leaves it pending.
func (l *deliveryStore) Try(sink string, sent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.delivery {
		if d.Lane.Sink == sink && d.strategy != nil && d.State == ledger.DeliveryPending {
			d.Attempts++
			if sent {
				d.State = ledger.DeliverySent
			}
		}
	}
}

// waiting returns the pending deliveries to push channels for the finding of the notice. For a digest it returns only
// the deliveries of the digest itself.
func (l *state) waiting(id string) (list []*deliveryRow) {
	of := l.notices[id]
	if of == nil {
		return nil
	}
	for _, d := range l.delivery {
		n := d.Notice
		finding := !notice.IsDigest(id) && !notice.IsDigest(n.ID) && n.Rule == of.Rule && n.Scope == of.Scope && n.Key == of.Key
		if d.strategy != nil && d.State == ledger.DeliveryPending && (n.ID == id || finding) {
			list = append(list, d)
		}
	}
	return list
}

// over cancels pending deliveries with unless: resolved, for the findings of the notices.
func (l *state) over(ids []string) {
	for _, id := range ids {
		for _, d := range l.waiting(id) {
			if d.strategy.Unless == delivery.UnlessResolved {
				d.State = ledger.DeliveryCanceled
			}
		}
	}
}

// tried tells whether the notice was sent in the lane, or a pending delivery of the notice has an attempt. If not,
// tried cancels the deliveries in the lane that wait for their first attempt, for all notices of the finding.
func (l *state) tried(id string, lane delivery.Lane) bool {
	tried := false
	for _, d := range l.delivery {
		if d.Notice.ID == id && d.Lane == lane && (d.State == ledger.DeliverySent || d.State == ledger.DeliveryPending && d.Attempts > 0) {
			tried = true
		}
	}
	for _, d := range l.waiting(id) {
		if !tried && d.Lane == lane && d.Attempts == 0 {
			d.State = ledger.DeliveryCanceled
		}
	}
	return tried
}

package enginetest

import (
	"context"
	"slices"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

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

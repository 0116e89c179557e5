package api_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tallyman/internal/delivery"
)

// quietLedger is what the inbox needs to begin an epoch and to write back what was delivered. It counts the questions: polls
// must ask none.
type quietLedger struct {
	mu        sync.Mutex
	state     *delivery.IndexState
	delivered []delivery.ScoredDelivery
	seq       atomic.Int64
	asked     atomic.Int64
}

// record keeps a delivery, unless its epoch is over.
func (l *quietLedger) record(batch []delivery.Delivery, receipts []delivery.Receipt) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range receipts {
		if r.Epoch != l.state.Epoch {
			return false
		}
	}
	for i, r := range receipts {
		l.delivered = append(l.delivered, delivery.ScoredDelivery{Delivery: batch[i], Score: r.Score})
	}
	return true
}

func (l *quietLedger) IndexState(context.Context, string) (delivery.IndexState, error) {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		return delivery.IndexState{}, delivery.ErrNotFound
	}
	return *l.state, nil
}

func (l *quietLedger) BeginEpoch(_ context.Context, _, prev string, next delivery.IndexState, _ string, lease time.Duration) error {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil && prev != "" || l.state != nil && l.state.Epoch != prev {
		return delivery.ErrFenced
	}
	next.Building, next.Lease = true, time.Now().Add(lease)
	l.state = &next
	return nil
}

func (l *quietLedger) FinishEpoch(_ context.Context, _, epoch string) error {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Epoch != epoch {
		return delivery.ErrFenced
	}
	l.state.Building = false
	return nil
}

func (l *quietLedger) Origins(_ context.Context, seqs []int64) (map[int64]delivery.Origin, error) {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[int64]delivery.Origin{}
	for _, d := range l.delivered {
		if slices.Contains(seqs, d.Seq) {
			found[d.Seq] = delivery.Origin{Notice: d.Notice.ID, Created: d.Notice.CreatedAt}
		}
	}
	return found, nil
}

func (l *quietLedger) HighestScores(context.Context, string) (map[string]int64, error) {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	highest := map[string]int64{}
	for _, d := range l.delivered {
		highest[d.Notice.Warehouse] = max(highest[d.Notice.Warehouse], d.Score)
	}
	return highest, nil
}

func (l *quietLedger) Delivered(_ context.Context, lane delivery.Lane, after int64, limit int) ([]delivery.ScoredDelivery, error) {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []delivery.ScoredDelivery
	for _, d := range l.delivered {
		if d.Notice.Warehouse == lane.Warehouse && d.Score > after {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b delivery.ScoredDelivery) int { return cmp.Compare(a.Score, b.Score) })
	return out[:min(limit, len(out))], nil
}

func (l *quietLedger) LiveMarks(context.Context, delivery.Mark, int) ([]delivery.Mark, error) {
	return nil, nil
}

func (l *quietLedger) RecentMarks(context.Context, delivery.Mark, int) ([]delivery.Mark, error) {
	return nil, nil
}

func (l *quietLedger) Watermarks(context.Context, delivery.Watermark, int) ([]delivery.Watermark, error) {
	return nil, nil
}

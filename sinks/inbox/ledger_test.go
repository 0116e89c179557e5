package inbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tallyman/internal/delivery"
)

// memoryLedger is the part of the ledger that the inbox talks to, in memory. It counts the questions, to prove that polls
// ask none.
type memoryLedger struct {
	mu        sync.Mutex
	state     *delivery.IndexState
	delivered map[int64]delivery.ScoredDelivery // by seq
	marks     []delivery.Mark                   // in the order of their time
	reads     []delivery.Watermark              // the same; every rise is one
	calls     int
	begun     int
	down      error
	now       func() time.Time
}

func newMemoryLedger() *memoryLedger {
	return &memoryLedger{delivered: map[int64]delivery.ScoredDelivery{}, now: time.Now}
}

func (l *memoryLedger) enter() (func(), error) {
	l.mu.Lock()
	l.calls++
	return l.mu.Unlock, l.down
}

func (l *memoryLedger) IndexState(context.Context, string) (delivery.IndexState, error) {
	leave, err := l.enter()
	defer leave()
	if err != nil {
		return delivery.IndexState{}, err
	}
	if l.state == nil {
		return delivery.IndexState{}, delivery.ErrNotFound
	}
	return *l.state, nil
}

func (l *memoryLedger) BeginEpoch(_ context.Context, _, prev string, next delivery.IndexState, node string, lease time.Duration) error {
	leave, err := l.enter()
	defer leave()
	if err != nil {
		return err
	}
	if l.state == nil && prev != "" || l.state != nil && l.state.Epoch != prev {
		return delivery.ErrFenced
	}
	if prev != next.Epoch {
		l.begun++
	}
	next.Building, next.Node, next.Lease = true, node, time.Now().Add(lease)
	l.state = &next
	return nil
}

func (l *memoryLedger) FinishEpoch(_ context.Context, _, epoch string) error {
	leave, err := l.enter()
	defer leave()
	if err != nil {
		return err
	}
	if l.state == nil || l.state.Epoch != epoch {
		return delivery.ErrFenced
	}
	l.state.Building = false
	return nil
}

func (l *memoryLedger) HighestScores(context.Context, string) (map[string]int64, error) {
	leave, err := l.enter()
	defer leave()
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, d := range l.delivered {
		out[d.Notice.Warehouse] = max(out[d.Notice.Warehouse], d.Score)
	}
	return out, nil
}

func (l *memoryLedger) Delivered(_ context.Context, lane delivery.Lane, after int64, limit int) ([]delivery.ScoredDelivery, error) {
	leave, err := l.enter()
	defer leave()
	if err != nil {
		return nil, err
	}
	var out []delivery.ScoredDelivery
	for _, d := range l.delivered {
		if d.Notice.Warehouse == lane.Warehouse && d.Score > after && d.Notice.ExpiresAt.After(l.now()) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b delivery.ScoredDelivery) int { return cmp.Compare(a.Score, b.Score) })
	return out[:min(limit, len(out))], nil
}

func (l *memoryLedger) Origins(_ context.Context, seqs []int64) (map[int64]delivery.Origin, error) {
	leave, err := l.enter()
	defer leave()
	found := map[int64]delivery.Origin{}
	for _, seq := range seqs {
		if d, ok := l.delivered[seq]; ok {
			found[seq] = delivery.Origin{Notice: d.Notice.ID, Created: d.Notice.CreatedAt}
		}
	}
	return found, err
}

// record is MarkSent: receipts of an epoch that is over change nothing.
func (l *memoryLedger) record(batch []delivery.Delivery, receipts []delivery.Receipt) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range receipts {
		if l.state == nil || r.Epoch != l.state.Epoch {
			return delivery.ErrFenced
		}
		if batch[i].Seq != r.Seq {
			return errors.New("receipts are not in the order of the deliveries")
		}
	}
	for i, r := range receipts {
		l.delivered[r.Seq] = delivery.ScoredDelivery{Delivery: batch[i], Score: r.Score}
	}
	return nil
}

func (l *memoryLedger) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// epochs is how many were begun.
func (l *memoryLedger) epochs() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

func (l *memoryLedger) epoch() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil || l.state.Building {
		return ""
	}
	return l.state.Epoch
}

// sortedLedger answers Delivered from a sorted list, as a database with an index does.
type sortedLedger struct {
	*memoryLedger
	list []delivery.ScoredDelivery
}

func (l *memoryLedger) sorted() *sortedLedger {
	s := &sortedLedger{memoryLedger: l}
	for _, d := range l.delivered {
		s.list = append(s.list, d)
	}
	slices.SortFunc(s.list, func(a, b delivery.ScoredDelivery) int { return cmp.Compare(a.Score, b.Score) })
	return s
}

func (s *sortedLedger) Delivered(_ context.Context, _ delivery.Lane, after int64, limit int) ([]delivery.ScoredDelivery, error) {
	at, _ := slices.BinarySearchFunc(s.list, after+1, func(d delivery.ScoredDelivery, score int64) int { return cmp.Compare(d.Score, score) })
	return s.list[at:min(at+limit, len(s.list))], nil
}

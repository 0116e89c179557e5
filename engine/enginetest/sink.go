package enginetest

import (
	"context"
	"sync"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// Sink records the deliveries that it gets, in order, by lane.
type Sink struct {
	// Fail, when set, is called before each delivery. An error of Fail is the answer.
	Fail func(ctx context.Context, lane string, batch []delivery.Delivery) error

	mu    sync.Mutex
	taken map[string][]*notice.Notice
	to    map[string][][]string
	score int64
}

// Deliver takes the batch.
func (s *Sink) Deliver(ctx context.Context, lane string, batch []delivery.Delivery) ([]delivery.Receipt, error) {
	if s.Fail != nil {
		if err := s.Fail(ctx, lane, batch); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken, s.to = map[string][]*notice.Notice{}, map[string][][]string{}
	}
	receipts := make([]delivery.Receipt, len(batch))
	for i, d := range batch {
		s.score++
		s.taken[lane] = append(s.taken[lane], d.Notice)
		s.to[lane] = append(s.to[lane], d.Recipients)
		receipts[i] = delivery.Receipt{Seq: d.Seq, Score: s.score}
	}
	return receipts, nil
}

// Taken returns the deliveries of the lane, repetitions included.
func (s *Sink) Taken(lane string) []*notice.Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*notice.Notice(nil), s.taken[lane]...)
}

// To returns the recipients of each delivery that Taken returns.
func (s *Sink) To(lane string) [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]string(nil), s.to[lane]...)
}

package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// livesSoak is items that begin one life after the other, and items whose findings are sent again and again, while
// Redis is killed and comes back empty.
type livesSoak struct {
	testing.TB

	nodes  []*node
	enough chan struct{}
	sent   map[string]int // by bin: the last notice that was delivered
	lives  map[string]int // by id: the requests that were answered
	mu     sync.Mutex
}

// TestSoakOfLives tests that each request begins one life, whatever answers were lost, and that each item ends with the
// last notice of its finding.
func TestSoakOfLives(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		r := testenv.Redis(t)
		s := &livesSoak{TB: t, enough: make(chan struct{}), sent: map[string]int{}, lives: map[string]int{}}
		for range 2 {
			s.nodes = append(s.nodes, newNode(t, r.Addr, l, func(o *Options) { o.MaxAttempts = item.NoLimit }))
		}
		working, over := context.WithCancel(t.Context())
		var senders, workers sync.WaitGroup
		for i := range 3 {
			senders.Go(func() { s.live(i) })
			senders.Go(func() { s.repeat(i) })
			workers.Go(func() { s.work(working, i, "L") })
			workers.Go(func() { s.work(working, i, "119240") })
		}
		for end := time.Now().Add(testenv.SoakFor(t, 3*time.Second)); time.Now().Before(end); {
			<-time.After(500*time.Millisecond + rand.N(time.Second))
			r.Kill()
			r.Restart()
		}
		close(s.enough)
		senders.Wait()
		over()
		workers.Wait()
		s.check()
	})
}

func (s *livesSoak) isOver() bool {
	select {
	case <-s.enough:
		return true
	default:
		return false
	}
}

// insist repeats a call until it is answered.
func (s *livesSoak) insist(what func(n *node) error) {
	testenv.Eventually(s, func() bool { return what(s.nodes[rand.N(len(s.nodes))]) == nil }, 30*time.Second)
}

// live asks for an item again and again, each time when it has ended.
func (s *livesSoak) live(number int) {
	id := fmt.Sprintf("order-%d", number)
	for k := 1; !s.isOver(); k++ {
		one := item.New{ID: id, Warehouse: "L", Payload: []byte(`1`), Again: true, Request: fmt.Sprintf("r%d", k)}
		s.insist(func(n *node) error {
			_, err := n.Push(s.Context(), false, "tester", []item.New{one})
			return err
		})
		s.mu.Lock()
		s.lives[id] = k
		s.mu.Unlock()
		s.insist(func(n *node) error {
			got, err := n.Get(s.Context(), false, nil, id)
			if err == nil && got.Item.State != item.Done {
				err = errSoak
			}
			return err
		})
	}
}

// repeat sends a finding again and again.
func (s *livesSoak) repeat(number int) {
	bin := fmt.Sprintf("B-%d", number)
	for k := 0; k < 50 && (k == 0 || !s.isOver()); k++ {
		one := repeats(bin, k, 1+rand.N(5), "")
		s.insist(func(n *node) error {
			_, err := n.Deliver(s.Context(), "", []delivery.Delivery{{Seq: 1, Notice: one}})
			return err
		})
		s.mu.Lock()
		s.sent[bin] = k
		s.mu.Unlock()
	}
}

// work finishes what has lives, and gives back what has a finding.
func (s *livesSoak) work(ctx context.Context, number int, warehouse string) {
	n := s.nodes[number%len(s.nodes)]
	caller := item.Caller{Worker: fmt.Sprintf("w%d%s", number, warehouse), Scope: item.Scope{warehouse}}
	for ctx.Err() == nil {
		done, err := n.Step(ctx, item.Step{Caller: caller, Max: 1, Wait: 100 * time.Millisecond})
		if err != nil {
			continue
		}
		for _, lease := range done.Items {
			kind := item.Ack
			if warehouse != "L" {
				kind = []item.OpKind{item.Release, item.Nack}[rand.N(2)]
				<-time.After(rand.N(20 * time.Millisecond))
			}
			_, _ = n.Step(ctx, item.Step{Caller: caller, Ops: []item.Op{{Kind: kind, ID: lease.ID, Attempt: lease.Attempt}}}) // else the lease ends
		}
	}
}

func (s *livesSoak) check() {
	s.Helper()
	n := s.nodes[0]
	for id, last := range s.lives {
		got, err := n.Get(s.Context(), false, nil, id)
		if err != nil {
			s.Fatal(err)
		}
		var begun []string
		for i, m := range got.Trace {
			if m.From == "" || m.From.Ended() {
				begun = append(begun, m.Note)
			}
			if i > 0 && m.N <= got.Trace[i-1].N {
				s.Errorf("%s: move %d follows %d", id, m.N, got.Trace[i-1].N)
			}
		}
		var want []string
		for k := range last {
			want = append(want, fmt.Sprintf("request r%d", k+1))
		}
		if !slices.Equal(begun, want) {
			s.Errorf("%s began with %v, want %v", id, begun, want)
		}
	}
	for bin, last := range s.sent {
		id := repeats(bin, 0, 3, "").ID
		n.mustDo(s, item.Op{Kind: item.Remove, ID: id, Force: true}, item.OK)
		var moves []item.Move
		got, err := n.Get(s.Context(), false, nil, id)
		if err != nil {
			s.Fatal(err)
		}
		moves = got.Trace
		told := 0
		for _, m := range moves {
			if m.Note == "notice "+repeats(bin, last, 3, "").ID {
				told++
			}
		}
		if last > 0 && told == 0 {
			s.Errorf("%s: the notice %d did not reach its item: %d moves", bin, last, len(moves))
		}
	}
	s.Logf("lives %v, notices %v", s.lives, s.sent)
}

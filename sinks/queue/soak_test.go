package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

const (
	soakProducers = 8
	soakWorkers   = 16
	soakLease     = 500 * time.Millisecond
	soakBacklog   = 2000 // items above which producers rest
)

// TestSoak has producers and workers on two nodes. They go on while workers die, and while Redis is killed and comes
// back empty. Every item is finished. No item is finished twice, unless Redis lost the first end before the ledger had
// it. Items that are ready together are served in order.
func TestSoak(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	r := testenv.Redis(t)
	s := &soak{T: t, ledger: &soakLedger{memoryLedger: newMemoryLedger()}, acks: map[string][]int{}}
	for range 2 {
		s.nodes = append(s.nodes, newNode(t, r.Addr, s.ledger, func(o *Options) {
			o.MaxAttempts = 1000
			o.SuspendSteps = []time.Duration{50 * time.Millisecond, 100 * time.Millisecond}
		}))
	}
	enough := make(chan struct{})
	working, over := context.WithCancel(t.Context())
	var producers, workers sync.WaitGroup
	for i := range soakProducers {
		producers.Go(func() { s.produce(t.Context(), enough, i) })
	}
	for i := range soakWorkers {
		workers.Go(func() { s.work(working, i) })
	}
	kills := 0
	for end := time.Now().Add(testenv.SoakFor(t, 4*time.Second)); time.Now().Before(end); kills++ {
		<-time.After(time.Second + rand.N(time.Second))
		r.Kill()
		<-time.After(rand.N(100 * time.Millisecond))
		r.Restart()
	}
	close(enough)
	producers.Wait()
	testenv.Eventually(t, s.finished, 60*time.Second)
	over()
	workers.Wait()
	for _, n := range s.nodes {
		n.stop()
	}
	s.check()
	t.Logf("%d items, %d moves, %d losses of Redis, %d leases lost, %d deaths of workers", len(s.pushes), len(s.ledger.moves), kills,
		s.lost.Load(), s.deaths.Load())
}

var soakWarehouses = []string{"", "A", "B", "C"}

// soakScope is what a worker sees: every third one sees all, the others one or two warehouses.
func soakScope(worker string) item.Scope {
	var number int
	_, _ = fmt.Sscanf(worker, "w%d", &number)
	return []item.Scope{nil, {"A"}, {"B", "C"}}[number%3]
}

type soak struct {
	*testing.T

	nodes        []*node
	ledger       *soakLedger
	done         atomic.Int64 // acks that were accepted
	lost, deaths atomic.Int64

	mu     sync.Mutex
	pushes []soakPush
	acks   map[string][]int // id → the attempts whose acks were accepted
}

// soakLedger remembers all moves in their order, and fails now and then after it did what it was asked.
type soakLedger struct {
	*memoryLedger

	mu    sync.Mutex
	moves []soakMove
}

var errSoak = errors.New("the ledger's answer got lost")

func (l *soakLedger) PushItems(ctx context.Context, queue string, items []item.Record) ([]item.PushAnswer, error) {
	known, err := l.memoryLedger.PushItems(ctx, queue, items)
	if rand.N(200) == 0 {
		return nil, errSoak
	}
	return known, err
}

func (l *soakLedger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, err := l.AppliedMoves(ctx, queue, epoch)
	if err != nil {
		return err
	}
	if err := l.memoryLedger.ApplyMoves(ctx, queue, epoch, entries); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Position <= before {
			continue
		}
		for _, m := range e.List {
			l.moves = append(l.moves, soakMove{m, epoch})
		}
	}
	if rand.N(200) == 0 {
		return errSoak
	}
	return nil
}

// produce pushes until it is enough. A push that fails is repeated with the same ids until it is answered.
func (s *soak) produce(ctx context.Context, enough <-chan struct{}, number int) {
	n := s.nodes[number%len(s.nodes)]
	for batch := 0; ; batch++ {
		select {
		case <-enough:
			return
		default:
		}
		s.mu.Lock()
		backlog := int64(len(s.pushes)) - s.done.Load()
		s.mu.Unlock()
		if backlog > soakBacklog {
			<-time.After(time.Millisecond)
			continue
		}
		items := newItems(1+rand.N(20), 1, fmt.Sprintf("p%d-%d-", number, batch))
		for i := range items {
			items[i].Priority = 1 + rand.N(item.HighestPriority)
			items[i].Warehouse = soakWarehouses[rand.N(len(soakWarehouses))]
		}
		started := time.Now()
		results, err := n.Push(ctx, false, "producer", items)
		for err != nil && ctx.Err() == nil {
			results, err = n.Push(ctx, false, "producer", items)
		}
		answered := time.Now()
		s.mu.Lock()
		for i, r := range results {
			if r.ID != items[i].ID || r.Outcome == item.Duplicate {
				s.Errorf("item %s was answered %+v", items[i].ID, r)
			}
			s.pushes = append(s.pushes, soakPush{id: r.ID, warehouse: items[i].Warehouse, priority: items[i].Priority, started: started, answered: answered})
		}
		s.mu.Unlock()
	}
}

// work leases and does something to what it has until the context ends. Now and then the worker dies, in the middle of
// a call or between two, and another takes its place; or it is slower than its leases.
func (s *soak) work(ctx context.Context, number int) {
	n := s.nodes[number%len(s.nodes)]
	var held []item.Lease
	for call := 0; ctx.Err() == nil; call++ {
		name := fmt.Sprintf("w%d", number)
		step := item.Step{
			Caller: item.Caller{Worker: name, Scope: soakScope(name)}, RequestID: fmt.Sprintf("r%d-%d", number, call), Ops: soakOps(held),
			Max: 1 + rand.N(10), Lease: soakLease, Wait: 200 * time.Millisecond,
		}
		switch rand.N(100) {
		case 0, 1: // dies while it asks
			s.deaths.Add(1)
			dying, cancel := context.WithTimeout(ctx, rand.N(2*time.Millisecond))
			_, _ = n.Step(dying, step)
			cancel()
			held = nil
			continue
		case 2: // dies with what it has
			s.deaths.Add(1)
			held = nil
			continue
		case 3: // is slow
			<-time.After(soakLease + rand.N(soakLease))
		}
		out, err := n.Step(ctx, step)
		for err != nil && ctx.Err() == nil { // as a client repeats it
			out, err = n.Step(ctx, step)
		}
		if err != nil {
			return
		}
		s.note(step.Ops, out.Results)
		held = out.Items
		for _, l := range held {
			if !step.Scope.Has(l.Warehouse) {
				s.Errorf("%s, who sees %v, was given %s of %q", name, step.Scope, l.ID, l.Warehouse)
			}
		}
	}
}

// soakOps is what a worker does to what it has: most is done.
func soakOps(held []item.Lease) []item.Op {
	ops := make([]item.Op, len(held))
	for i, l := range held {
		ops[i] = item.Op{Kind: item.Ack, ID: l.ID, Attempt: l.Attempt}
		switch rand.N(20) {
		case 0:
			ops[i].Kind, ops[i].Note = item.Nack, "no stock"
		case 1:
			ops[i].Kind = item.Release
		case 2:
			if l.Suspends < 2 {
				ops[i].Kind = item.Suspend
			}
		case 3:
			ops[i].Kind, ops[i].Delay = item.Nack, 20*time.Millisecond
		}
	}
	return ops
}

// note remembers what a worker was answered.
func (s *soak) note(ops []item.Op, results []item.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range results {
		switch {
		case r.Outcome == item.OK && ops[i].Kind == item.Ack:
			s.acks[r.ID] = append(s.acks[r.ID], ops[i].Attempt)
			s.done.Add(1)
		case r.Outcome == item.LeaseLost:
			s.lost.Add(1)
		case r.Outcome != item.OK:
			s.Errorf("%s of %s came out as %s", r.Kind, r.ID, r.Outcome)
		}
	}
}

// finished tells whether neither Redis nor the ledger has an unfinished item any more.
func (s *soak) finished() bool {
	sizes, err := s.nodes[0].Sizes(s.Context(), false, nil)
	if err != nil || sizes.Ready+sizes.Leased+sizes.Delayed+sizes.Suspended > 0 {
		return false
	}
	left, err := s.ledger.UnfinishedItems(s.Context(), queueName, 0, 1)
	return err == nil && len(left) == 0
}

func (s *soak) check() {
	slices.SortFunc(s.pushes, func(a, b soakPush) int { return a.answered.Compare(b.answered) })
	for i := range s.pushes {
		p := &s.pushes[i]
		record, trace, err := s.ledger.ItemTrace(s.Context(), queueName, p.id)
		if err != nil || record.State != item.Done {
			s.Errorf("%s is %s, %v", p.id, record.State, err)
		}
		p.seq = record.Seq
		if ends := count(trace, func(m item.Move) bool { return m.To.Ended() }); ends != 1 {
			s.Errorf("%s has ended %d times: %v", p.id, ends, trace)
		}
		// Attempts jump with every epoch, by a multiple of restoreJump.
		epochs := map[int]bool{}
		for _, attempt := range s.acks[p.id] {
			if epochs[attempt/restoreJump] {
				s.Errorf("%s was finished twice in one epoch, attempts %v", p.id, s.acks[p.id])
			}
			epochs[attempt/restoreJump] = true
		}
	}
	broken := checkOrder(s.pushes, s.ledger.moves)
	for _, b := range broken[:min(len(broken), 20)] {
		s.Error(b)
	}
	if len(broken) > 0 {
		s.Errorf("%d of %d moves were out of order", len(broken), len(s.ledger.moves))
	}
	if len(s.ledger.moves) < 3*len(s.pushes)/2 || len(s.pushes) < 1000 || s.deaths.Load() == 0 {
		s.Errorf("little has happened: %d pushes, %d moves, %d deaths", len(s.pushes), len(s.ledger.moves), s.deaths.Load())
	}
}

func count[T any](all []T, is func(T) bool) int {
	n := 0
	for _, one := range all {
		if is(one) {
			n++
		}
	}
	return n
}

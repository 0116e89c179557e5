package session_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/delivery"
	"tallyman/internal/session"
)

// laneLease is longer than all that a test does to the ledger's clock: nobody gets a lane because the lease of the lane is over.
const laneLease = 24 * time.Hour

var contested = delivery.Lane{Sink: "inbox", Warehouse: "119240"}

// worker drains the lane for its node whenever it can have it, as the engine does.
type worker struct {
	*node

	c    *cluster
	held atomic.Pointer[string] // the session in whose name it works now
}

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		w.drain(ctx)
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // in a synctest bubble
	}
}

func (w *worker) drain(ctx context.Context) {
	id, lapsed := w.Hold()
	if id == "" {
		return
	}
	if w.ask(ctx) != nil {
		return
	}
	if held, err := w.c.ledger.AcquireLane(ctx, contested, id, laneLease); err != nil || !held {
		return
	}
	w.held.Store(&id)
	defer w.held.Store(nil)
	for range 20 {
		select {
		case <-lapsed:
			return
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	if w.ask(ctx) == nil {
		_ = w.c.ledger.ReleaseLane(ctx, contested, id) // never fails in memory
	}
}

// ask is a call of the ledger. It has an end, as all calls of the engine do.
func (w *worker) ask(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, lease)
	defer done()
	return w.way.pass(ctx)
}

// Whatever becomes of the nodes' ways to the ledger and of the ledger's clock: never do two nodes believe that they hold the lane, and when all is well again somebody
// holds it soon.
func TestNeverTwoHolders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		script := rapid.SliceOfN(rapid.Custom(drawAct), 1, 30).Draw(r, "script")
		var wrong string
		synctest.Test(t, func(t *testing.T) { wrong = play(newCluster(t), script) })
		if wrong != "" {
			r.Fatal(wrong)
		}
	})
}

// act is one thing that happens, and how long it is until the next.
type act struct {
	node  int
	what  string
	by    time.Duration
	pause time.Duration
}

func drawAct(t *rapid.T) act {
	return act{
		node: rapid.IntRange(0, 2).Draw(t, "node"), what: rapid.SampledFrom([]string{"refuse", "hang", "mend", "mend", "jump", "all away", "all back"}).Draw(t, "what"),
		by:    time.Duration(rapid.Int64Range(int64(-time.Second), int64(30*time.Second)).Draw(t, "by")),
		pause: time.Duration(rapid.Int64Range(0, int64(2*lease)).Draw(t, "pause")),
	}
}

// play returns the fault that it found.
func play(c *cluster, script []act) (wrong string) {
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	var workers []*worker
	var working sync.WaitGroup
	for i := range 3 {
		w := &worker{node: c.start(fmt.Sprintf("n%d", i)), c: c}
		workers = append(workers, w)
		working.Go(func() { w.run(ctx) })
	}
	watch := func(d time.Duration) {
		for end := time.Now().Add(d); wrong == "" && time.Now().Before(end); {
			wait(10 * time.Millisecond)
			wrong = holders(workers)
		}
	}
	for _, a := range script {
		for i, w := range workers {
			switch {
			case a.what == "all away", a.what == "refuse" && a.node == i:
				w.way.set(errAway, false)
			case a.what == "hang" && a.node == i:
				w.way.set(nil, true)
			case a.what == "all back", a.what == "mend" && a.node == i:
				w.way.set(nil, false)
			}
		}
		if a.what == "jump" {
			c.jump(a.by)
		}
		watch(a.pause)
	}
	for _, w := range workers {
		w.way.set(nil, false)
	}
	watch(30*time.Second + 4*lease) // a clock that went back by seconds keeps the leases of the dead for so long
	for range 40 {
		if wrong != "" || workers[0].held.Load() != nil || workers[1].held.Load() != nil || workers[2].held.Load() != nil {
			break
		}
		watch(50 * time.Millisecond)
	}
	for _, w := range workers {
		if id, _ := w.Hold(); wrong == "" && id == "" {
			wrong = "a node has no session at the end"
		}
	}
	if wrong == "" && workers[0].held.Load() == nil && workers[1].held.Load() == nil && workers[2].held.Load() == nil {
		wrong = "nobody holds the lane at the end"
	}
	cancel()
	working.Wait()
	for _, w := range workers {
		w.stop()
	}
	return wrong
}

// holders says who believes to hold the lane, where these are two.
func holders(workers []*worker) string {
	var who []string
	for _, w := range workers {
		if id := w.held.Load(); id != nil && w.Holds(*id) {
			who = append(who, fmt.Sprintf("%s (lapsed %d)", *id, w.count(session.Lapsed)))
		}
	}
	if len(who) > 1 {
		return fmt.Sprintf("two nodes hold the lane: %v", who)
	}
	return ""
}

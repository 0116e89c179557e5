package engine_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/ledger"
)

// turningClock is a clock that a test sets back, which begins a new term.
type turningClock struct {
	mu    sync.Mutex
	back  time.Duration
	term  ledger.Term
	ended chan struct{}
}

func (c *turningClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(-c.back)
}

func (*turningClock) Real(d time.Duration) time.Duration { return d }

func (c *turningClock) Term() (ledger.Term, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.term, c.ended
}

func (c *turningClock) turn(back time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.back += back
	c.term = ledger.Term{Number: c.term.Number + 1, Began: time.Now().Add(-c.back), Back: back}
	close(c.ended)
	c.ended = make(chan struct{})
}

// The clock goes back by 10 minutes. Rules go on within their interval. No firing runs twice in a term. A finding that
// begins again at the same due time gets a notice of its own. A finding that lasts goes on.
func TestTheClockTurns(t *testing.T) {
	inWorld(t, func(w *world) {
		c := &turningClock{ended: make(chan struct{})}
		for _, name := range []string{"a", "b"} {
			o := w.options(name)
			o.Clock, o.Terms = c, c
			w.start(o)
		}
		w.set(stock("A-01", -3), stock("A-02", -1))
		rows := w.current()
		pass(6 * m) // due at 5: the findings fire
		if len(w.notices()) == 0 {
			t.Fatal("nothing is told to begin with")
		}
		first := len(w.notices())
		w.set()
		pass(5 * m) // due at 10: they resolve
		w.set(rows...)
		pass(time.Second)
		c.turn(10 * m) // it is a minute past
		pass(5 * m)    // due at 5: they fire anew
		again := w.notices()
		fired := 0
		ids := map[string]bool{}
		for _, n := range again {
			if n.Status == "firing" {
				fired++
			}
			if ids[n.ID] {
				t.Errorf("notice %s came twice", n.ID)
			}
			ids[n.ID] = true
		}
		if fired != 2*first {
			t.Errorf("%d notices fired before the clock turned, %d in all: %q", first, fired, w.told())
		}
		pass(20 * m)
		var runs []string
		for _, run := range w.ledger.Runs() {
			runs = append(runs, run.Due.Format("04")+" in "+string(rune(int64('0')+run.Term)))
		}
		if want := []string{"05 in 0", "10 in 0", "05 in 1", "10 in 1", "15 in 1", "20 in 1", "25 in 1"}; !slices.Equal(runs, want) {
			t.Errorf("runs %q, want %q", runs, want)
		}
		if fired != 2*first || len(w.notices()) != len(again) {
			t.Errorf("findings that last were told again: %q", w.told())
		}
	})
}

// A rule is not late because the clock went back. It is late if no node runs it afterwards.
func TestLatenessInANewTerm(t *testing.T) {
	inWorld(t, func(w *world) {
		c := &turningClock{ended: make(chan struct{})}
		var busy atomic.Bool
		w.ledger.Fail = func(method string) error {
			if method == "Claim" && busy.Load() {
				return ledger.ErrBusy
			}
			return nil
		}
		o := w.options("a")
		o.Clock, o.Terms = c, c
		n := w.start(o)
		pass(11 * m)
		c.turn(10 * m)
		pass(3 * m)
		if s := status(t, n); s.Late || s.Overdue != 0 {
			t.Errorf("late by %s", s.Overdue)
		}
		busy.Store(true)
		pass(20 * m)
		if s := status(t, n); !s.Late {
			t.Errorf("overdue by %s, and not late", s.Overdue)
		}
	})
}

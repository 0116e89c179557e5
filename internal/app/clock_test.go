package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/docs/codetest"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// machineClock is the clock of a machine, ahead by some time.
type machineClock struct{ ahead atomic.Int64 }

func newMachineClock(ahead time.Duration) *machineClock {
	m := &machineClock{}
	m.ahead.Store(int64(ahead))
	return m
}

func (m *machineClock) Now() time.Time                   { return time.Now().Round(0).Add(time.Duration(m.ahead.Load())) }
func (*machineClock) Real(d time.Duration) time.Duration { return d }

// ledgerClock is a ledger's clock, ahead of the bubble's by some time. Questions and answers take some time on their
// way.
type ledgerClock struct {
	there, back time.Duration
	ahead       atomic.Int64
	away        atomic.Bool

	mu    sync.Mutex
	state ledger.ClockState
	asked []string // what was done
}

func (l *ledgerClock) set(ahead time.Duration) { l.ahead.Store(int64(ahead)) }

func (l *ledgerClock) machine() time.Time {
	return time.Now().Round(0).Add(time.Duration(l.ahead.Load()))
}

func (l *ledgerClock) ReadClock(context.Context) (ledger.ClockState, error) {
	time.Sleep(l.there)      //nolint:forbidigo // in a synctest bubble
	defer time.Sleep(l.back) //nolint:forbidigo // in a synctest bubble
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away.Load() {
		return ledger.ClockState{}, errors.New("away")
	}
	state := l.state
	state.Machine = l.machine()
	return state, nil
}

func (l *ledgerClock) is(was *ledger.ClockState) bool {
	return l.state.Number == was.Number && l.state.Withheld == was.Withheld
}

func (l *ledgerClock) SeeTime(_ context.Context, was ledger.ClockState) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.is(&was) && l.state.Seen.Before(was.Now()) {
		l.state.Seen = was.Now()
	}
	return nil
}

func (l *ledgerClock) BeginTerm(_ context.Context, _ ledger.Author, was ledger.ClockState, back, _ time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.is(&was) {
		return false, nil
	}
	l.asked = append(l.asked, "term")
	now := l.machine()
	l.state = ledger.ClockState{Term: ledger.Term{Number: was.Number + 1, Began: now, Back: back}, Seen: now}
	return true, nil
}

func (l *ledgerClock) WithholdClock(_ context.Context, _ ledger.Author, was ledger.ClockState, withheld time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.is(&was) {
		return false, nil
	}
	l.asked = append(l.asked, "withhold")
	l.state.Withheld, l.state.Since = withheld, was.Since
	return true, nil
}

func (l *ledgerClock) ConfirmClock(context.Context, ledger.Author, string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Withheld, l.state.Since = 0, time.Time{}
	return nil
}

func (l *ledgerClock) done() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.asked, " ")
}

// wrong returns by how much the node's time differs from the bubble's.
func (c *sharedClock) wrong() time.Duration { return c.Now().Sub(time.Now().Round(0)) }

var aNode = ledger.Author{By: "node:n-1", Via: ledger.ViaClock}

// clockNode is a node that follows the ledger's clock until the test ends.
func clockNode(t *testing.T, l *ledgerClock, said *testenv.Output) *sharedClock {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if said != nil {
		log = slog.New(slog.NewTextHandler(said, nil))
	}
	c, err := newClock(t.Context(), newMachineClock(0), l, aNode, true, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return c
}

func passes(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a synctest bubble
	synctest.Wait()
}

func TestTheLedgersTimeCounts(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct{ machine, there, back, want time.Duration }{
		"right":                      {0, 0, 0, 0},
		"2 s ahead":                  {2 * time.Second, 10 * ms, 20 * ms, -20 * ms},
		"a day behind":               {-24 * time.Hour, 0, 0, 0},
		"2 s ahead of a slow answer": {2 * time.Second, 4 * time.Second, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &ledgerClock{there: test.there, back: test.back}
				c, err := newClock(t.Context(), newMachineClock(test.machine), l, aNode, true, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				if got := c.wrong(); got != test.want {
					t.Errorf("the time is wrong by %v, want %v", got, test.want)
				}
			})
		})
	}
}

// Setting the clock of a machine does not change the time of nodes, but is logged. Setting the ledger's clock by a
// little changes the time of all nodes.
func TestClocksThatAreSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said testenv.Output
		l := &ledgerClock{}
		c := clockNode(t, l, &said)
		machine := c.machine.(*machineClock)
		after := func(what string, want time.Duration) {
			t.Helper()
			passes(90*time.Second + time.Millisecond)
			if got := c.wrong(); got != want {
				t.Errorf("%s: the time is wrong by %v, want %v", what, got, want)
			}
		}
		after("nobody sets anything", 0)
		if said.String() != "" {
			t.Errorf("of a clock that is right: %s", &said)
		}
		machine.ahead.Store(int64(-time.Hour))
		after("the machine's clock is set back", 0)
		if n := strings.Count(said.String(), "The clock of this machine differs"); n != 2 {
			t.Errorf("in 90 s there were %d words of it: %s", n, &said)
		}
		l.set(59 * time.Minute)
		after("the ledger's clock is set", 59*time.Minute)
		l.away.Store(true)
		after("the ledger is away", 59*time.Minute)
		if got := l.done(); got != "" {
			t.Errorf("the ledger was told: %s", got)
		}
	})
}

// After a small step back of the ledger's clock the node's time goes slower, and never back.
func TestASmallStepBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledgerClock{}
		c := clockNode(t, l, nil)
		passes(10*time.Second + time.Millisecond)
		l.set(-4 * time.Second)
		last := c.Now()
		for range 200 {
			passes(50 * time.Millisecond)
			now := c.Now()
			if !now.After(last) {
				t.Fatalf("the time was %s and is %s", last, now)
			}
			last = now
		}
		if got := c.wrong(); got != -4*time.Second || l.done() != "" {
			t.Errorf("after 10 s the time is wrong by %v, %q was done", got, l.done())
		}
	})
}

// The clock goes back while nodes run. One of them begins a clock term, and all go on in it.
func TestTheClockGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said testenv.Output
		l := &ledgerClock{}
		nodes := []*sharedClock{clockNode(t, l, &said), clockNode(t, l, nil), clockNode(t, l, nil)}
		passes(10*time.Second + time.Millisecond)
		_, first := nodes[0].Term()
		l.set(-10 * time.Minute)
		passes(2 * time.Second)
		for i, c := range nodes {
			term, ended := c.Term()
			if term.Number != 1 || term.Back.Round(time.Second) != 10*time.Minute || c.wrong() != -10*time.Minute {
				t.Errorf("node %d: %+v, wrong by %v", i, term, c.wrong())
			}
			select {
			case <-ended:
				t.Errorf("node %d: the new term has ended", i)
			default:
			}
		}
		select {
		case <-first:
		default:
			t.Error("nobody hears that the first term has ended")
		}
		if l.done() != "term" || !strings.Contains(said.String(), "The ledger's clock went back") {
			t.Errorf("%q was done; said %s", l.done(), &said)
		}
		passes(time.Hour)
		if l.done() != "term" {
			t.Errorf("later: %q", l.done())
		}
	})
}

// The clock went back while no node was running. The first node that starts sees it by the time that the ledger has
// recorded.
func TestTheClockWentBackWithoutNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledgerClock{}
		l.state.Seen = time.Now().Round(0)
		l.set(-10 * time.Minute)
		for range 2 {
			c := clockNode(t, l, nil)
			if term, _ := c.Term(); term.Number != 1 || c.wrong() != -10*time.Minute || l.done() != "term" {
				t.Errorf("%+v, wrong by %v, %q", term, c.wrong(), l.done())
			}
		}
		l.set(-10*time.Minute - 4*time.Second)
		if c := clockNode(t, l, nil); l.done() != "term" || c.wrong() != -10*time.Minute-4*time.Second {
			t.Errorf("after a small step back: %q, wrong by %v", l.done(), c.wrong())
		}
	})
}

// The clock goes ahead while nodes run. All nodes, new ones included, go on with the earlier time, until an operator
// confirms the clock.
func TestTheClockGoesAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said testenv.Output
		l := &ledgerClock{}
		one, two := clockNode(t, l, &said), clockNode(t, l, nil)
		passes(10*time.Second + time.Millisecond)
		l.set(2 * time.Hour)
		three := clockNode(t, l, nil) // it finds a clock that is far ahead of what nodes have seen
		passes(2 * time.Second)
		for i, c := range []*sharedClock{one, two, three} {
			if c.wrong().Abs() > time.Second || c.state().Withheld.Round(time.Second) != 2*time.Hour {
				t.Errorf("node %d: wrong by %v, %+v", i, c.wrong(), c.state())
			}
		}
		if l.done() != "withhold" || !strings.Contains(said.String(), "tallyman clock confirm") {
			t.Errorf("%q was done; said %s", l.done(), &said)
		}
		l.set(5 * time.Hour)
		passes(2 * time.Second)
		if one.wrong().Abs() > time.Second || one.state().Withheld.Round(time.Second) != 5*time.Hour {
			t.Errorf("once more: wrong by %v, %+v", one.wrong(), one.state())
		}
		if err := l.ConfirmClock(t.Context(), aNode, ""); err != nil {
			t.Fatal(err)
		}
		passes(2 * time.Second)
		for i, c := range []*sharedClock{one, two, three} {
			if term, _ := c.Term(); c.wrong() != 5*time.Hour || term.Number != 0 {
				t.Errorf("confirmed, node %d: wrong by %v in term %d", i, c.wrong(), term.Number)
			}
		}
	})
}

// A clock that went ahead and comes back was only wrong for a while. It begins no new clock term.
func TestTheClockWentAheadAndComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledgerClock{}
		c := clockNode(t, l, nil)
		passes(10*time.Second + time.Millisecond)
		l.set(2 * time.Hour)
		passes(10 * time.Minute)
		l.set(0)
		passes(2 * time.Second)
		if term, _ := c.Term(); c.wrong().Abs() > time.Second || term.Number != 0 || c.state().Withheld != 0 || l.done() != "withhold withhold" {
			t.Errorf("wrong by %v, %+v, %q", c.wrong(), c.state(), l.done())
		}
		l.set(2 * time.Hour)
		passes(2 * time.Second)
		l.set(-10 * time.Minute)
		passes(2 * time.Second)
		if term, _ := c.Term(); c.wrong() != -10*time.Minute || term.Number != 1 || c.state().Withheld != 0 {
			t.Errorf("further back than it was: wrong by %v, %+v", c.wrong(), c.state())
		}
	})
}

// A time without nodes, or without the ledger, is no jump of the clock.
func TestATimeWithoutNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledgerClock{}
		l.state.Seen = time.Now().Round(0)
		passes(2 * time.Hour)
		c := clockNode(t, l, nil)
		passes(10*time.Second + time.Millisecond)
		l.away.Store(true)
		passes(2 * time.Hour)
		l.away.Store(false)
		passes(2 * time.Second)
		if c.wrong() != 0 || l.done() != "" || time.Since(l.state.Seen) > 2*time.Second {
			t.Errorf("wrong by %v, %q was done, seen %s", c.wrong(), l.done(), l.state.Seen)
		}
	})
}

// A node was frozen for hours while others ran. It sees by the time that they recorded that the clock did not jump.
func TestANodeThatStoodStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledgerClock{}
		clockNode(t, l, nil)
		var still atomic.Int64
		began := time.Now()
		paused := &sharedClock{
			machine: newMachineClock(0), ledger: l, who: aNode, log: slog.New(slog.DiscardHandler),
			timer: func() time.Duration { return time.Since(began) - time.Duration(still.Load()) },
		}
		if err := paused.start(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		passes(3 * time.Hour)
		still.Store(int64(3 * time.Hour))
		if err := paused.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if paused.wrong() != 0 || l.done() != "" {
			t.Errorf("wrong by %v, %q was done", paused.wrong(), l.done())
		}
	})
}

// The documentation quotes the message to operators about a clock that went ahead.
func TestAnUnconfirmedClock(t *testing.T) {
	t.Parallel()
	state := &ledger.ClockState{Machine: time.Date(2026, 6, 1, 10, 15, 0, 0, time.UTC)}
	if err := unconfirmed(state); err != nil {
		t.Error(err)
	}
	state.Withheld = 2 * time.Hour
	codetest.Outcome(t, "../../docs/reference/error-codes.md", "The ledger", "clock_unconfirmed", unconfirmed(state).Error()+"\n")
}

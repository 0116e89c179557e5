package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/testenv"
)

// machineClock is the clock of a machine that is so much ahead.
type machineClock struct{ ahead atomic.Int64 }

func newMachineClock(ahead time.Duration) *machineClock {
	m := &machineClock{}
	m.ahead.Store(int64(ahead))
	return m
}

func (m *machineClock) Now() time.Time                   { return time.Now().Round(0).Add(time.Duration(m.ahead.Load())) }
func (*machineClock) Real(d time.Duration) time.Duration { return d }

// ledgerClock is asked and answers on ways that take so long.
type ledgerClock struct {
	there, back time.Duration
	ahead       atomic.Int64
	away        atomic.Bool
}

func (l *ledgerClock) ask(context.Context) (time.Time, error) {
	time.Sleep(l.there) //nolint:forbidigo // in a synctest bubble
	now := time.Now().Round(0).Add(time.Duration(l.ahead.Load()))
	time.Sleep(l.back) //nolint:forbidigo // in a synctest bubble
	if l.away.Load() {
		return time.Time{}, errors.New("away")
	}
	return now, nil
}

// wrong is by how much the node's time is.
func (c *sharedClock) wrong() time.Duration { return c.Now().Sub(time.Now().Round(0)) }

func TestTheLedgersTimeCounts(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct{ machine, there, back, want time.Duration }{
		"right":                           {0, 10 * ms, 10 * ms, 0},
		"wrong by less than can be known": {5 * ms, 10 * ms, 20 * ms, 5 * ms},
		"2 s ahead":                       {2 * time.Second, 10 * ms, 20 * ms, 10 * ms},
		"2 s behind":                      {-2 * time.Second, 10 * ms, 20 * ms, -20 * ms},
		"a day behind":                    {-24 * time.Hour, 0, 0, 0},
		"2 s ahead of a slow answer":      {2 * time.Second, 4 * time.Second, 0, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &ledgerClock{there: test.there, back: test.back}
				c := newClock(newMachineClock(test.machine), l.ask, slog.New(slog.DiscardHandler))
				if err := c.compare(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := c.wrong(); got != test.want {
					t.Errorf("the time is wrong by %v, want %v", got, test.want)
				}
			})
		})
	}
}

// Who sets the clock of a machine does not move the time, but is told of; who sets that of the ledger moves it for all nodes.
func TestClocksThatAreSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said testenv.Output
		machine, l := newMachineClock(0), &ledgerClock{}
		c := newClock(machine, l.ask, slog.New(slog.NewTextHandler(&said, nil)))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.run(ctx) }()
		passes := func(what string, want time.Duration) {
			t.Helper()
			time.Sleep(90*time.Second + time.Millisecond) //nolint:forbidigo // in a synctest bubble
			if got := c.wrong(); got != want {
				t.Errorf("%s: the time is wrong by %v, want %v", what, got, want)
			}
		}
		passes("nobody sets anything", 0)
		if said.String() != "" {
			t.Errorf("of a clock that is right: %s", &said)
		}
		machine.ahead.Store(int64(-time.Hour))
		passes("the machine's clock is set back", 0)
		if n := strings.Count(said.String(), "the clock of this machine is wrong"); n != 2 {
			t.Errorf("in 90 s there were %d words of it: %s", n, &said)
		}
		l.ahead.Store(int64(7 * time.Second))
		passes("the ledger's clock is set", 7*time.Second)
		l.away.Store(true)
		passes("the ledger is away", 7*time.Second)
		stop()
		<-ended
	})
}

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// chaos makes calls fail at random. The same seed gives the same failures, as far as the order of goroutines allows.
type chaos struct {
	mu   sync.Mutex
	rand *rand.Rand
	over bool
}

// strikes returns true once in n times, on average.
func (c *chaos) strikes(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.over && c.rand.IntN(n) == 0
}

func (c *chaos) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

var errChaos = errors.New("chaos")

// TestChaos lets the ledger, the source and the sink fail at random, while three nodes start and stop and lose leases.
// Then it checks that no notice was lost, doubled or delivered out of order.
func TestChaos(t *testing.T) {
	testenv.Slow(t)
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := &chaos{rand: rand.New(rand.NewPCG(seed, 1))}
				if seed%2 == 1 {
					w.split("119239", "119240", "119241")
				}
				for _, r := range w.rules {
					r.Schedule.Cron = "* * * * *"
				}
				unleash(w, c)
				live(w, c)
				c.end()
				w.set()
				w.start(w.options("last"))
				pass(10 * m)
				checkStory(w)
			})
		})
	}
}

func unleash(w *world, c *chaos) {
	w.ledger.Fail = func(string) error {
		if c.strikes(12) {
			return errChaos
		}
		return nil
	}
	w.source.Rows = func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
		if c.strikes(10) {
			return nil, &scanners.Error{Code: scanners.CodeTimeout, Transient: true, Err: errChaos}
		}
		rows := w.current()
		if c.strikes(5) {
			return rows, enginetest.Sleep(ctx, 90*time.Second)
		}
		return rows, nil
	}
	w.inbox.Fail = func(ctx context.Context, _ string, _ []delivery.Delivery) error {
		if c.strikes(4) {
			return errChaos
		}
		if c.strikes(6) {
			return enginetest.Sleep(ctx, 20*time.Second) // longer than it may take
		}
		return nil
	}
}

// live simulates an hour in which bins change, and nodes start, stop and lose their claims.
func live(w *world, c *chaos) {
	nodes := map[string]node{}
	for range 120 {
		for _, name := range []string{"a", "b", "c"} {
			n, runs := nodes[name]
			switch {
			case runs && c.strikes(10):
				n.stop()
				delete(nodes, name)
			case !runs && !c.strikes(3):
				nodes[name] = w.start(w.options(name))
			}
		}
		var rows [][]row.Value
		for _, bin := range []string{"A-01", "A-02", "A-03"} {
			if !c.strikes(2) {
				rows = append(rows, stock(bin, -1))
			}
		}
		w.set(rows...)
		for _, r := range w.rules {
			if s, err := w.ledger.Scope(w.t.Context(), r.ID, r.Scope); err == nil && s.Running != nil && c.strikes(8) {
				w.ledger.Steal(r.ID, r.Scope, "thief", 20*time.Second)
			}
		}
		pass(30 * time.Second)
	}
	for _, n := range nodes {
		n.stop()
	}
}

// checkStory compares the notices in the inboxes with the runs. The notices of each bin alternate between firing and
// resolved, and end with resolved.
func checkStory(w *world) {
	w.t.Helper()
	seen := map[string]bool{}
	last := map[string]notice.Status{}
	told := 0
	for _, r := range w.rules {
		for _, n := range w.inbox.Taken(r.Scope) {
			if seen[n.ID] {
				continue
			}
			seen[n.ID] = true
			told++
			want := notice.Firing
			key := r.Scope + n.Key
			if last[key] == notice.Firing {
				want = notice.Resolved
			}
			if n.Status != want {
				w.t.Errorf("%s: %s after %q", key, n.Status, last[key])
			}
			last[key] = n.Status
		}
	}
	for key, s := range last {
		if s != notice.Resolved {
			w.t.Errorf("%s ends with %s", key, s)
		}
	}
	if told == 0 || w.ledger.Unsent() != 0 {
		w.t.Errorf("%d told, %d unsent", told, w.ledger.Unsent())
	}
	made := 0
	dues := map[string]bool{}
	for _, run := range w.ledger.Runs() {
		firing := run.Scope + " " + run.Due.String()
		if dues[firing] {
			w.t.Errorf("the firing of %s was committed twice", firing)
		}
		dues[firing] = true
		made += run.Notices
		if run.Outcome == ledger.OutcomeFailed && run.Notices != 0 {
			w.t.Errorf("%+v", run)
		}
	}
	if made != told {
		w.t.Errorf("the runs made %d notices, the inbox was told %d", made, told)
	}
}

var _ engine.Ledger = (*enginetest.Ledger)(nil)

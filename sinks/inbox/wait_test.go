package inbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

// waiting starts a Wait and returns where its result comes.
func waiting(ctx context.Context, n *node, q page.Query, version string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- n.Wait(ctx, q, version) }()
	return done
}

func TestWaitIsWokenByTheHint(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		reader, writer := newNode(t, t.addr, ledger), newNode(t, t.addr, ledger)
		writer.deliver(t, makeDeliveries(1, wh, "user:1"))
		testenv.Eventually(t, func() bool { return reader.knows(wh) }, 60*time.Second)
		q := query("user:1", "role:k")
		pg := reader.poll(t, q)
		done := waiting(t.Context(), reader, q, pg.Version)
		testenv.Eventually(t, func() bool { return reader.waiters.count(wh) == 1 }, 60*time.Second)
		began := time.Now()
		writer.deliver(t, makeDeliveries(1, wh, "role:k"))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > checkEvery/2*raceFactor {
			t.Errorf("it took %s: that was not the hint", took)
		}
		if got := reader.poll(t, after(q, pg.Cursor)); len(got.Notices) != 1 {
			t.Errorf("%v", ids(got))
		}
		if reader.waiters.count(wh) != 0 {
			t.Error("a waiter stayed behind")
		}
	})
}

func TestWaitSurvivesALostHint(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.deliver(t, makeDeliveries(1, wh, "user:1"))
		q := query("user:1")
		done := waiting(t.Context(), n, q, n.poll(t, q).Version)
		n.deliverSilently(t.T, "user:1")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitSleepsThroughWhatConcernsOthers(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	n.deliver(t, makeDeliveries(1, wh, "user:1"))
	q := query("user:1")
	version := n.poll(t, q).Version
	ctx, cancel := context.WithTimeout(t.Context(), 2*checkEvery)
	defer cancel()
	done := waiting(ctx, n, q, version)
	n.deliver(t, makeDeliveries(1, wh, "user:2"))
	n.deliver(t, makeDeliveries(1, "other", "user:1"))
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	// An old version is over at once, hint or not.
	n.deliver(t, makeDeliveries(1, wh, "user:1"))
	if err := n.Wait(t.Context(), q, version); err != nil {
		t.Error(err)
	}
	for _, odd := range []string{"", "a.b", "1-a.zz!.0.x"} {
		if err := n.Wait(t.Context(), q, odd); err != nil {
			t.Errorf("%q: %v", odd, err)
		}
	}
}

func TestWaitEndsWithTheEpoch(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n := newNode(t, r.Addr, newMemoryLedger())
	n.deliver(t, makeDeliveries(1, wh, "user:1"))
	q := query("user:1")
	done := waiting(t.Context(), n, q, n.poll(t, q).Version)
	flushAll(t, r)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	many := make([]string, maxHinted+1)
	for i := range many {
		many[i] = "user:x"
	}
	for _, c := range []struct {
		h    hint
		who  []string
		want bool
	}{
		{hint{warehouse: "w", subscribers: []string{"role:k", "user:1"}}, []string{"user:0", "user:1"}, true},
		{hint{warehouse: "w", subscribers: []string{"role:k", "user:1"}}, []string{"role:l", "user:2"}, false},
		{hint{warehouse: "w"}, []string{"user:2"}, true},
		{hint{warehouse: "w", subscribers: many}, []string{"user:2"}, true}, // too many to name: anybody may be meant
	} {
		got := parseHint(c.h.String())
		if got.warehouse != "w" || got.concerns(c.who) != c.want {
			t.Errorf("%v for %v: %v", c.h, c.who, !c.want)
		}
		if got = parseHint(c.h.String() + "\n5-70"); got.from != 5 || got.to != 70 || got.concerns(c.who) != c.want {
			t.Errorf("with a span: %v", got)
		}
	}
}

func (w *waiters) count(warehouse string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.here[warehouse])
}

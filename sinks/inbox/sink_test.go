package inbox

import (
	"errors"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
	"tallyman/sinks/sinktest"
)

func TestSinkSuite(t *testing.T) {
	t.Parallel()
	onAll(t, func(s site) {
		sinktest.Run(s.T, func(t *testing.T) sinktest.Fixture {
			t.Helper()
			n := newNode(t, s.addr, newMemoryLedger(), func(o *Options) { o.Prefix = t.Name() + ":" })
			return sinktest.Fixture{Sink: n, Received: func(t testing.TB) []string {
				t.Helper()
				return ids(n.poll(t, page.Query{Warehouse: sinktest.Lane, Subscribers: []string{sinktest.Recipient}}))
			}}
		})
	})
}

func TestAnEvictingServerIsRefused(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t, "--maxmemory-policy", "allkeys-lru")
	watch := recovery.NewWatch()
	in, err := New(Options{Client: r.Client(t), Watch: watch, Ledger: newMemoryLedger(), Session: sinktest.Session("n")})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Check(t.Context()); !errors.Is(err, recovery.ErrEvicts) {
		t.Errorf("Check: %v", err)
	}
	ok := newNode(t, onMiniredis(t), newMemoryLedger())
	if err := ok.Check(t.Context()); err != nil {
		t.Errorf("the in-process Redis: %v", err)
	}
}

// While there is nothing to serve from, polls wait 5 s and then say so.
func TestPollsWaitAndThenSaySo(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	r := testenv.Redis(t)
	n := newNode(t, r.Addr, ledger)
	r.Stop()
	q := query("user:1")
	results := make(chan error, 3)
	go func() { _, err := n.Poll(t.Context(), q); results <- err }()
	go func() { _, err := n.Version(t.Context(), q); results <- err }()
	go func() {
		_, err := n.Deliver(t.Context(), wh, makeDeliveries(1, wh, "user:1"))
		results <- err
	}()
	unavailable := 0
	for range 3 {
		err := <-results
		if err == nil {
			t.Error("something was served without Redis")
		}
		if errors.Is(err, page.ErrUnavailable) {
			unavailable++
		}
	}
	if unavailable < 2 {
		t.Errorf("%d of the polls said that the index is unavailable", unavailable)
	}
	testenv.Eventually(t, func() bool { return n.Ready() != nil }, recovery.CallTimeout*raceFactor)
}

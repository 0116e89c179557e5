package inbox

import (
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// watching counts the calls of a watcher as values of a channel.
func watching(t *testing.T, n *node, warehouse string, subscribers ...string) <-chan struct{} {
	t.Helper()
	calls := make(chan struct{}, 1000)
	t.Cleanup(n.Watch(warehouse, subscribers, func() { calls <- struct{}{} }))
	return calls
}

// told waits for a call.
func told(t *testing.T, calls <-chan struct{}) {
	t.Helper()
	select {
	case <-calls:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody told the watcher")
	}
}

func TestWatchersAreToldOfWhatIsTheirs(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		reader, writer := newNode(t.T, t.addr, ledger), newNode(t.T, t.addr, ledger)
		writer.deliver(t, makeDeliveries(1, wh, "user:1"))
		testenv.Eventually(t, func() bool { return reader.knows(wh) }, 60*time.Second)
		mine, roles, others := watching(t.T, reader, wh, "role:k", "user:1"), watching(t.T, reader, wh, "role:k"), watching(t.T, reader, wh, "user:2")
		elsewhere := watching(t.T, reader, "other", "user:1")
		testenv.Eventually(t, func() bool { return reader.watches.settled(wh) }, 20*time.Second)
		drain(mine, roles, others, elsewhere)
		writer.deliver(t, makeDeliveries(1, wh, "user:1"))
		told(t.T, mine)
		writer.deliver(t, makeDeliveries(1, wh, "role:k"))
		told(t.T, mine)
		told(t.T, roles)
		if len(others)+len(elsewhere)+len(mine)+len(roles) != 0 {
			t.Errorf("told too often: %d %d %d %d", len(mine), len(roles), len(others), len(elsewhere))
		}
	})
}

// A hint that is lost shows at the next one of the warehouse, or at the clock.
func TestWatchersLearnOfLostHints(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	n.deliver(t, makeDeliveries(1, wh, "user:1"))
	calls := watching(t, n, wh, "user:1")
	testenv.Eventually(t, func() bool { return n.watches.settled(wh) }, 20*time.Second)
	drain(calls)
	n.deliverSilently(t, "user:1")
	told(t, calls)
}

func TestHintsJoinEndToEnd(t *testing.T) {
	t.Parallel()
	var ws watches
	var mine, other int
	ws.enter(&watch{warehouse: wh, subscribers: []string{"user:1"}, news: func() { mine++ }})
	two := &watch{warehouse: wh, subscribers: []string{"user:2"}, news: func() { other++ }}
	ws.enter(two)
	step := func(what string, wantMine, wantOther int) {
		t.Helper()
		if mine != wantMine || other != wantOther {
			t.Errorf("%s: told %d and %d times, want %d and %d", what, mine, other, wantMine, wantOther)
		}
		mine, other = 0, 0
	}
	ws.hint(hint{wh, []string{"user:1"}, 10, 20})
	step("the first hint", 1, 0)
	ws.hint(hint{wh, []string{"user:1"}, 20, 30})
	step("one that joins it", 1, 0)
	ws.hint(hint{wh, []string{"user:1"}, 40, 50})
	step("one behind a gap", 1, 1)
	ws.hint(hint{wh, []string{"user:1"}, 30, 40})
	step("the one that was late", 1, 0)
	ws.hint(hint{wh, nil, 50, 60})
	step("one to anybody", 1, 1)
	ws.clock(wh, 70)
	step("a clock ahead of the hints", 0, 0)
	ws.clock(wh, 80)
	step("the hint did not come", 1, 1)
	ws.hint(hint{wh, []string{"user:2"}, 70, 80})
	step("a hint in time", 0, 1)
	ws.clock(wh, 80)
	step("nothing was lost", 0, 0)
	ws.restart()
	step("another epoch", 1, 1)
	ws.hint(hint{wh, []string{"user:1"}, 5, 6})
	step("its first hint", 1, 0)
	ws.leave(two)
	ws.hint(hint{wh, nil, 6, 7})
	step("after one left", 1, 0)
}

func TestWatchersAreToldOfAnEpoch(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n := newNode(t, r.Addr, newMemoryLedger())
	n.deliver(t, makeDeliveries(1, wh, "user:1"))
	calls := watching(t, n, wh, "user:1")
	testenv.Eventually(t, func() bool { return n.watches.settled(wh) }, 20*time.Second)
	drain(calls)
	flushAll(t, r)
	told(t, calls)
}

func drain(channels ...<-chan struct{}) {
	for _, c := range channels {
		for len(c) > 0 {
			<-c
		}
	}
}

// settled tells whether the clock was read and all waiting readers were woken for it.
func (ws *watches) settled(warehouse string) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	at := ws.wards[warehouse]
	return at.seen > 0 && at.read == at.seen
}

// deliverSilently delivers a notice without a hint.
func (n *node) deliverSilently(t *testing.T, to string) {
	t.Helper()
	g, _ := n.keeper.Current()
	d := makeDeliveries(1, wh, to)[0]
	e, err := n.newEntry(&d, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.put(t.Context(), wh, n.newFanoutCall(g.Epoch, wh, "", []entry{e})); err != nil {
		t.Fatal(err)
	}
}

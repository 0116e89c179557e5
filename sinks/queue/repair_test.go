package queue

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// heldUp is a push of an item that is in the ledger, but not in Redis yet. The returned function lets the push
// continue, and returns its result.
func heldUp(t *testing.T, n *node, g *gate, id string) func() item.PushResult {
	t.Helper()
	g.closed.Store(true)
	type answer struct {
		results []item.PushResult
		err     error
	}
	done := make(chan answer)
	go func() {
		results, err := n.Push(t.Context(), false, "tester", []item.New{{ID: id, Payload: []byte("{}")}})
		done <- answer{results, err}
	}()
	<-g.met
	return func() item.PushResult {
		g.open <- struct{}{}
		a := <-done
		if a.err != nil {
			t.Fatal(a.err)
		}
		return a.results[0]
	}
}

// finish has a worker do the only item that there is.
func (n *node) finish(t *testing.T, ledger *memoryLedger) {
	t.Helper()
	var leases []item.Lease
	testenv.Eventually(t, func() bool {
		out, err := n.Step(t.Context(), item.Step{Caller: item.Caller{Worker: "w"}, Max: 1})
		leases = out.Items
		return err == nil && len(leases) == 1
	}, 20*time.Second)
	n.mustDo(t, item.Op{Kind: item.Ack, ID: leases[0].ID, Attempt: leases[0].Attempt}, item.OK)
	testenv.Eventually(t, func() bool { return ledger.state(leases[0].ID) == item.Done }, 20*time.Second)
}

// A push is held up for so long that a repair puts the item in and a worker finishes it. It is pushed, and does not
// come back.
func TestAPushThatIsLateBringsNothingBackThatWasRepaired(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		late, g := newGatedNode(t, t.addr, ledger)
		n := newNode(t, t.addr, ledger)
		arrive := heldUp(t.T, late, g, "i1")
		l := n.lines[0]
		generation, _ := n.keeper.Current()
		records, err := ledger.UnfinishedItems(t.Context(), l.name, 0, 10)
		if err != nil || len(records) != 1 {
			t.Fatal(records, err)
		}
		if got, err := (rebuilder{n.Queue}).repair(t.Context(), l, generation.Epoch, records); err != nil || !slices.Equal(got, []string{enqueuedNew}) {
			t.Fatalf("repaired: %q, %v", got, err)
		}
		n.finish(t.T, ledger)
		if r := arrive(); r.Outcome != item.Pushed {
			t.Errorf("%+v", r)
		}
		if got := n.mustLease(t, "w", 1); len(got) > 0 {
			t.Errorf("it came back: %+v", got)
		}
	})
}

// The same as above, but Redis was lost in between, and everything was written back.
func TestAPushThatIsLateBringsNothingBackAfterALoss(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	ledger := newMemoryLedger()
	late, g := newGatedNode(t, r.Addr, ledger)
	n := newNode(t, r.Addr, ledger)
	arrive := heldUp(t, late, g, "i1")
	r.Restart()
	n.finish(t, ledger)
	if r := arrive(); r.Outcome != item.Pushed {
		t.Errorf("%+v", r)
	}
	if got := n.mustLease(t, "w", 1); len(got) > 0 {
		t.Errorf("it came back: %+v", got)
	}
}

// A late item that was not finished in between is still put in by its push.
func TestAPushThatWasLeftToRepairsRepairs(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	addr := testenv.Redis(t).Addr
	late, g := newGatedNode(t, addr, ledger)
	n := newNode(t, addr, ledger)
	arrive := heldUp(t, late, g, "i1")
	l := n.lines[0]
	generation, _ := n.keeper.Current()
	records, err := ledger.UnfinishedItems(t.Context(), l.name, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	_, token, places, err := l.missing(t.Context(), generation.Epoch, records) // and this repair dies
	if err != nil || len(places) != 1 {
		t.Fatal(places, err)
	}
	if r := arrive(); r.Outcome != item.Pushed {
		t.Errorf("%+v", r)
	}
	if got := idsOf(n.mustLease(t, "w", 2)); !slices.Equal(got, []string{"i1"}) {
		t.Errorf("%v", got)
	}
	if _, err := l.enqueue(t.Context(), generation.Epoch, token, records, nil); !errors.Is(err, errToken) {
		t.Errorf("the repair that is not the newest any more: %v", err)
	}
}

// If an id is pushed again that the ledger has and Redis lost, the item comes back in its old state, not as a new item.
func TestAnIDThatIsPushedAgainIsRepaired(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNode(t, testenv.Redis(t).Addr, ledger)
	n.mustPush(t, newItems(1, 3, "i")...)
	lease := n.mustLease(t, "w", 1)[0]
	n.mustDo(t, item.Op{Kind: item.Nack, ID: "i1", Attempt: lease.Attempt}, item.OK)
	l := n.lines[0]
	n.client.HDel(t.Context(), l.keys.items(), "i1")
	again := newItems(1, 3, "i")
	again[0].Payload = []byte(`"another"`)
	results, err := n.Push(t.Context(), false, "tester", again)
	if err != nil || results[0].Outcome != item.Exists {
		t.Fatalf("%+v, %v", results, err)
	}
	got := n.mustLease(t, "w", 1)
	if len(got) != 1 || got[0].Failures != 1 || got[0].Attempt <= lease.Attempt || string(got[0].Payload) == `"another"` {
		t.Errorf("%+v", got)
	}
}

// While the ledger is away, work goes on until so many moves wait that they would fill Redis; pushes do not.
func TestTooManyMovesWaitForTheLedger(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNodeThat(t, keep, t.addr, newMemoryLedger())
		n.mustPush(t, newItems(2, 3, "i")...)
		l := n.lines[0]
		generation, _ := n.keeper.Current()
		fill := func(moved int64) {
			t.Helper()
			n.client.Del(t.Context(), l.keys.outbox())
			n.client.RPush(t.Context(), l.keys.outbox(), "1 node 7\n7 1 r l 1 0 0 0 - w -")
			n.client.HSet(t.Context(), l.keys.meta(), "out", 5000, "drained", 10, "moved", 7+moved)
		}
		lease := func() error {
			r := l.newRequest(generation.Epoch, item.Step{Caller: item.Caller{Worker: "w"}, Max: 1})
			call := l.newCall(0, []*request{r})
			_, err := l.run(t.Context(), l.scripts.step, call.keys, call.args...)
			return err
		}
		fill(maxBacklog + 1)
		if err := lease(); !errors.Is(err, errBacklog) {
			t.Errorf("with too many: %v", err)
		}
		n.mustPush(t, newItems(1, 3, "j")...)
		fill(maxBacklog)
		if err := lease(); err != nil {
			t.Errorf("with as many as may be: %v", err)
		}
	})
}

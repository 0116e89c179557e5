package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// told writes a trace in a short form: each state and who caused it.
func told(trace []item.Move) string {
	var b strings.Builder
	for _, m := range trace {
		fmt.Fprintf(&b, "%s→%s %d by %s; ", m.From, m.To, m.Attempt, m.By)
	}
	return b.String()
}

func TestGetHasWhatHasJustHappened(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n, drains := newNode(t, t.addr, ledger), newNode(t, t.addr, ledger)
		_ = drains // whichever of the two drains, both know what has moved
		for i := range 20 {
			id := fmt.Sprintf("a%d", i)
			n.mustPush(t, item.New{ID: id, Priority: 3, Payload: []byte(`{"bin":"A"}`)})
			lease := n.mustLease(t, "w", 1)[0]
			n.mustDo(t, item.Op{Kind: item.Nack, ID: id, Attempt: lease.Attempt, Note: "no stock", Delay: time.Hour}, item.OK)
			got, err := n.Get(t.Context(), false, nil, id)
			if err != nil {
				t.Fatal(err)
			}
			if got.Item.State != item.Delayed || got.Item.Failures != 1 || string(got.Item.Payload) != `{"bin":"A"}` {
				t.Errorf("%+v", got.Item)
			}
			want := "→ready 0 by tester; ready→leased 1 by w; leased→delayed 1 by tester; "
			if told(got.Trace) != want || got.Trace[2].Note != "no stock" || got.Trace[2].Node != n.o.Node {
				t.Fatalf("%s\nwant %s, %+v", told(got.Trace), want, got.Trace)
			}
		}
	})
}

func TestGetOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.mustPush(t, newItems(2, 3, "a")...)
		lease := n.mustLease(t, "w", 1)[0]
		n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Ops: []item.Op{{Kind: item.Ack, ID: "a1", Attempt: lease.Attempt}}})
		n.mustDo(t, item.Op{Kind: item.Remove, ID: "a2", Note: "by hand"}, item.OK)
		for id, want := range map[string]string{
			"a1": "→ready 0 by tester; ready→leased 1 by w; leased→done 1 by w; ",
			"a2": "→ready 0 by tester; ready→removed 0 by tester; ",
		} {
			got, err := n.Get(t.Context(), false, nil, id)
			if err != nil || told(got.Trace) != want || !got.Item.State.Ended() || len(got.Item.Payload) == 0 || !got.Item.Ready.IsZero() {
				t.Errorf("%+v, %v", got, err)
			}
		}
		for _, test := range []bool{false, true} {
			if _, err := n.Get(t.Context(), test, nil, map[bool]string{false: "none", true: "a1"}[test]); !errors.Is(err, delivery.ErrNotFound) {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestGetWithoutALedger(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, nil)
	n.mustPush(t, newItems(1, 3, "a")...)
	if got, err := n.Get(t.Context(), false, nil, "a1"); err != nil || got.Item.State != item.Ready || len(got.Trace) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := n.Get(t.Context(), false, nil, "none"); !errors.Is(err, delivery.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// A slow ledger blocks no reader: the item is shown in its present state, with the trace that the ledger has.
func TestGetDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	idle := func(q *Queue, ctx context.Context) { q.keeper.Run(ctx) } // nobody drains
	n := newNodeThat(t, idle, testenv.Redis(t).Addr, ledger)
	n.mustPush(t, newItems(1, 3, "a")...)
	n.mustLease(t, "w", 1)
	began := time.Now()
	got, err := n.Get(t.Context(), false, nil, "a1")
	if err != nil || got.Item.State != item.Leased || told(got.Trace) != "→ready 0 by tester; " {
		t.Errorf("%+v, %v", got, err)
	}
	if took := time.Since(began); took < traceWait || took > traceWait+soon {
		t.Errorf("it took %s", took)
	}
	down := errors.New("the ledger is down")
	ledger.fail(down)
	if _, err := n.Get(t.Context(), false, nil, "a1"); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Get(ctx, false, nil, "a1"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The trace ends with the shown state, even if the item has moved on in between.
func TestATraceEndsWithTheItem(t *testing.T) {
	t.Parallel()
	trace := []item.Move{{N: 0}, {N: 1}, {N: 2}, {N: 3}}
	for moves, want := range map[int64]int{0: 1, 2: 3, 3: 4, 9: 4} {
		if got := len(until(trace, moves)); got != want {
			t.Errorf("%d moves of 3 for an item with %d", got-1, moves)
		}
	}
}

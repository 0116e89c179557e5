package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/testenv"
	"tallyman/sinks"
)

// of are items of a warehouse.
func of(warehouse string, items ...item.New) []item.New {
	for i := range items {
		items[i].Warehouse = warehouse
	}
	return items
}

// seeing is a caller who sees some warehouses.
func seeing(subject, worker string, warehouses ...string) item.Caller {
	return item.Caller{Subject: subject, Worker: worker, Scope: warehouses, OwnLeases: true}
}

func TestAnItemOfAnotherWarehouseIsAnUnknownOne(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.mustPush(t, slices.Concat(of("A", newItems(2, 3, "a")...), of("B", newItems(2, 5, "b")...), newItems(2, 5, "none"))...)
		stranger := seeing("user:ann", "w", "A")
		lease := n.mustStep(t, item.Step{Caller: seeing("user:bob", "w", "B"), Max: 1}).Items[0]
		for _, id := range []string{"b1", "b2", "none1", "unknown"} {
			if _, err := n.Get(t.Context(), false, stranger.Scope, id); !errors.Is(err, delivery.ErrNotFound) {
				t.Errorf("%s is shown: %v", id, err)
			}
			if _, err := n.Rank(t.Context(), false, stranger.Scope, id); !errors.Is(err, delivery.ErrNotFound) {
				t.Errorf("%s has a rank: %v", id, err)
			}
			for kind := range letters {
				op := item.Op{Kind: kind, ID: id}
				want := item.NotFound
				if kind == item.Set {
					op.Set = &item.Setting{Priority: 5}
				}
				if kind == item.Store {
					op.Delay = time.Hour
				}
				if slices.Contains([]item.OpKind{item.Ack, item.Nack, item.Release, item.Extend}, kind) {
					op.Attempt, want = lease.Attempt, item.LeaseLost
				}
				got := n.mustStep(t, item.Step{Caller: stranger, Ops: []item.Op{op}}).Results[0].Outcome
				if got != want {
					t.Errorf("%s of %s came out as %s, not %s", kind, id, got, want)
				}
			}
		}
		page, err := n.List(t.Context(), item.Query{State: item.Ready, Limit: 10, Scope: stranger.Scope})
		if err != nil || len(page.Items) != 2 || page.Items[0].ID != "a1" || page.Items[1].ID != "a2" {
			t.Errorf("%+v, %v", page.Items, err)
		}
		if got := idsOf(n.mustStep(t, item.Step{Caller: stranger, Max: 10}).Items); !slices.Equal(got, []string{"a1", "a2"}) {
			t.Errorf("leased %v", got)
		}
		removed, err := n.RemoveRange(t.Context(), item.Bulk{Test: false, Scope: item.Scope{"B"}, By: "op"}, item.Ready, 1, 100)
		if err != nil || removed != 1 {
			t.Errorf("%d were removed, %v", removed, err)
		}
		if got := idsOf(n.mustLease(t, "all", 10)); !slices.Equal(got, []string{"none1", "none2"}) {
			t.Errorf("what belongs to no warehouse is %v", got)
		}
	})
}

// Another subject that names the same worker and the same request gets nothing of it, and cannot touch the lease.
func TestRequestsAndLeasesBelongToTheirSubject(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.mustPush(t, of("A", newItems(2, 3, "a")...)...)
		ann, bob := seeing("user:ann", "scanner", "A"), seeing("user:bob", "scanner", "A")
		first := n.mustStep(t, item.Step{Caller: ann, RequestID: "r1", Max: 1}).Items
		if got := n.mustStep(t, item.Step{Caller: bob, RequestID: "r1"}).Items; len(got) != 0 {
			t.Fatalf("the request of another was answered with %v", idsOf(got))
		}
		for _, kind := range []item.OpKind{item.Ack, item.Nack, item.Release, item.Extend, item.Suspend, item.Assign} {
			op := item.Op{Kind: kind, ID: first[0].ID, Attempt: first[0].Attempt}
			if got := n.mustStep(t, item.Step{Caller: bob, Ops: []item.Op{op}}).Results[0].Outcome; got != item.LeaseLost {
				t.Errorf("%s of another's lease came out as %s", kind, got)
			}
		}
		// The same request with another token of the same subject shows nothing that the token does not see.
		elsewhere := ann
		elsewhere.Scope = item.Scope{"B"}
		if got := n.mustStep(t, item.Step{Caller: elsewhere, RequestID: "r1"}).Items; len(got) != 0 {
			t.Errorf("a token of another warehouse was answered with %v", idsOf(got))
		}
		if got := n.mustStep(t, item.Step{Caller: ann, RequestID: "r1"}).Items; len(got) != 1 || got[0].ID != "a1" {
			t.Errorf("the request was answered with %v", idsOf(got))
		}
		// A second device of the subject may end what the first has begun.
		other := ann
		other.Worker = "terminal"
		op := item.Op{Kind: item.Ack, ID: first[0].ID, Attempt: first[0].Attempt}
		if got := n.mustStep(t, item.Step{Caller: other, Ops: []item.Op{op}}).Results[0].Outcome; got != item.OK {
			t.Errorf("the ack of the subject's other device came out as %s", got)
		}
	})
}

func TestAnAssigneeIsAWorkerOrASubject(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.mustPush(t, of("A", newItems(3, 3, "a")...)...)
		for id, to := range map[string]string{"a1": "user:ann", "a2": "user:ann/scanner", "a3": "user:bob"} {
			n.mustDo(t, item.Op{Kind: item.Assign, ID: id, Worker: to}, item.OK)
		}
		take := func(c item.Caller) string {
			return strings.Join(idsOf(n.mustStep(t, item.Step{Caller: c, Max: 10}).Items), " ")
		}
		for _, c := range []struct {
			caller item.Caller
			want   string
		}{
			{seeing("user:ann", "scanner", "B"), ""}, // its own, of a warehouse that the token does not see
			{seeing("user:eve", "scanner", "A"), ""},
			{seeing("user:ann", "terminal", "A"), "a1"},
			{seeing("user:ann", "scanner", "A"), "a2"},
			{seeing("user:bob", "scanner", "A", "B"), "a3"},
		} {
			if got := take(c.caller); got != c.want {
				t.Errorf("%s, who sees %v, was given %q, not %q", c.caller.Name(), c.caller.Scope, got, c.want)
			}
		}
	})
}

func TestDedupeKeysBelongToWarehouses(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		for _, window := range []Window{{}, {Day: true}, {For: time.Hour}} {
			n := newNode(t, t.addr, newMemoryLedger(), func(o *Options) {
				o.Dedupe, o.Prefix = window, fmt.Sprintf("%s%t-%d:", o.Prefix, window.Day, window.For)
			})
			push := func(id, warehouse string) item.PushResult {
				results, err := n.Push(t.Context(), false, "tester", of(warehouse, item.New{ID: id, Priority: 3, Payload: []byte("1"), DedupeKey: "key"}))
				if err != nil {
					t.Fatal(err)
				}
				return results[0]
			}
			for _, warehouse := range []string{"A", "B", ""} {
				if got := push("first-"+warehouse+"x", warehouse); got.Outcome != item.Pushed {
					t.Errorf("%v: the key of %q is %+v", window, warehouse, got)
				}
			}
			if got := push("second", "A"); got.Outcome != item.Duplicate || got.Of != "first-Ax" {
				t.Errorf("%v: %+v", window, got)
			}
		}
	})
}

func TestAnIDOfAnotherWarehouseIsTaken(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		for _, l := range []Ledger{nil, newMemoryLedger()} {
			n := newNode(t, t.addr, l, func(o *Options) { o.Prefix += fmt.Sprintf("%t:", l == nil) })
			n.mustPush(t, of("A", newItems(1, 3, "i")...)...)
			for warehouse, want := range map[string]item.PushOutcome{"A": item.Exists, "B": item.IDTaken, "": item.IDTaken} {
				results, err := n.Push(t.Context(), false, "tester", of(warehouse, newItems(1, 3, "i")...))
				if err != nil || results[0].Outcome != want {
					t.Errorf("with a ledger %t: a push to %q came out as %+v, %v", l != nil, warehouse, results, err)
				}
			}
			if got := n.mustStep(t, item.Step{Caller: seeing("s", "w", "B"), Max: 5}).Items; len(got) != 0 {
				t.Errorf("B has %v", idsOf(got))
			}
		}
	})
}

// If another warehouse has an item with the id of a notice, the notice must be refused, not dropped silently.
func TestANoticeWhoseIDIsTakenIsRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	fired := fires("A-01", 1, 0)
	n.mustPush(t, item.New{ID: fired.ID, Warehouse: "elsewhere", Priority: 3, Payload: []byte("1")})
	_, err := n.Deliver(t.Context(), "", []delivery.Delivery{{Seq: 7, Notice: fires("A-02", 1, 0)}, {Seq: 8, Notice: fired}})
	refused, ok := errors.AsType[*sinks.RefusedError](err)
	if !ok || !slices.Equal(refused.Seqs, []int64{8}) {
		t.Errorf("%v", err)
	}
}

// A lease asks as few commands of Redis where the queue is full of other warehouses' items as where it is empty.
func TestALeaseDoesNotLookAtOtherWarehouses(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n := newNode(t, r.Addr, nil)
	lease := func() (commands int) {
		n.mustPush(t, of("A", newItems(1, 1, "")...)...)
		before := commandCalls(t, r)
		if got := n.mustStep(t, item.Step{Caller: seeing("s", "w", "A"), Max: 10}).Items; len(got) != 1 {
			t.Fatalf("%v", idsOf(got))
		}
		return commandCalls(t, r) - before
	}
	alone := lease()
	for range 20 {
		n.mustPush(t, of("B", newItems(500, 5, "")...)...)
		n.mustPush(t, of("C", newItems(500, 5, "")...)...)
	}
	if among := lease(); among > alone+3 { // what runs by itself meanwhile
		t.Errorf("a lease took %d commands among 20,000 items of others, and %d alone", among, alone)
	}
}

// commandCalls is how many commands of lists, sets and hashes the server has run, those of scripts among them.
func commandCalls(t testing.TB, r *testenv.RedisServer) int {
	t.Helper()
	info, err := r.Client(t).Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for line := range strings.Lines(info) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		var calls int
		if _, err := fmt.Sscanf(rest, "calls=%d,", &calls); err == nil && strings.ContainsAny(name[:1], "lzh") {
			total += calls
		}
	}
	return total
}

// An item wakes a call that waits for its warehouse, even if other calls have waited longer for other warehouses.
func TestAnItemWakesWhoWaitsForItsWarehouse(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n, producer := newNode(t, t.addr, ledger), newNode(t, t.addr, ledger)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 3 {
			waiting(ctx, t, n, item.Step{Caller: seeing("user:ann", fmt.Sprintf("a%d", i), "A")})
		}
		var calls []<-chan stepped
		for i := range 4 {
			calls = append(calls, waiting(t.Context(), t, n, item.Step{Caller: seeing("user:bob", fmt.Sprintf("b%d", i), "B", "C")}))
		}
		began := time.Now()
		producer.mustPush(t, of("B", newItems(2, 3, "b")...)...)
		producer.mustPush(t, of("C", newItems(2, 3, "c")...)...)
		for _, done := range calls {
			wantItem(t.T, <-done, "")
		}
		if took := time.Since(began); took > soon {
			t.Errorf("it took %s: that were not the hints", took)
		}
	})
}

// A call that is woken for one warehouse and filled with items of another wakes the next call.
func TestOneWhoIsFilledPassesTheWordOn(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		if err := n.Pause(t.Context(), false, "op", anOrder); err != nil {
			t.Fatal(err)
		}
		all := waiting(t.Context(), t, n, item.Step{Caller: item.Caller{Worker: "all"}})
		a := waiting(t.Context(), t, n, item.Step{Caller: seeing("user:ann", "w", "A")})
		b := waiting(t.Context(), t, n, item.Step{Caller: seeing("user:bob", "w", "B")})
		began := time.Now()
		n.mustPush(t, slices.Concat(of("A", newItems(2, 5, "a")...), of("B", newItems(1, 1, "b")...))...)
		if err := n.Resume(t.Context(), false, "op", anOrder); err != nil {
			t.Fatal(err)
		}
		wantItem(t.T, <-all, "")
		wantItem(t.T, <-a, "")
		wantItem(t.T, <-b, "b1")
		if took := time.Since(began); took > soon {
			t.Errorf("it took %s", took)
		}
	})
}

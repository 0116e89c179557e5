package queue

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
	"tallyman/sinks/recovery"
)

// reconnects is a lineage whose marks are always known: only what Redis remembers of the queue tells.
type reconnects struct {
	mu    sync.Mutex
	count int64
	told  []recovery.Restore
}

func (*reconnects) Mark() string { return "1-a" }

func (*reconnects) HasMark(context.Context, string) (bool, error) { return true, nil }

func (r *reconnects) Incarnation() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

func (r *reconnects) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
}

func (r *reconnects) tell(_ context.Context, restore recovery.Restore) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, restore)
	return nil
}

func (r *reconnects) restores() []recovery.Restore {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

func (r *reconnects) option(o *Options) { o.Lineage, o.OnRestore = r, r.tell }

// backup copies the queues of the ledger; restore puts the copy back.
func (l *memoryLedger) backup() map[string]*memoryQueue {
	l.mu.Lock()
	defer l.mu.Unlock()
	return copied(l.queues)
}

func (l *memoryLedger) restore(from map[string]*memoryQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queues = copied(from)
}

func copied(queues map[string]*memoryQueue) map[string]*memoryQueue {
	out := map[string]*memoryQueue{}
	for name, q := range queues {
		one := *q
		one.items, one.byID, one.pushed, one.withheld = map[int64]*memoryItem{}, maps.Clone(q.byID), slices.Clone(q.pushed), maps.Clone(q.withheld)
		for seq, it := range q.items {
			own := *it
			own.trace = slices.Clone(it.trace)
			one.items[seq] = &own
		}
		out[name] = &one
	}
	return out
}

func TestItemsThatEndedAfterTheBackupAreWithheld(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger, lineage := newMemoryLedger(), &reconnects{}
		nodes := []*node{newNode(t, t.addr, ledger, lineage.option), newNode(t, t.addr, ledger, lineage.option)}
		nodes[0].mustPush(t, newItems(6, 3, "early")...)
		if _, err := nodes[0].Push(t.Context(), true, "tester", newItems(2, 3, "twin")); err != nil {
			t.Fatal(err)
		}
		inLedger(t, nodes[0])
		backup := ledger.backup()

		leases := nodes[0].mustLease(t, "w", 4)
		nodes[0].mustDo(t, item.Op{Kind: item.Ack, ID: "early1", Attempt: leases[0].Attempt}, item.OK)
		nodes[0].mustDo(t, item.Op{Kind: item.Ack, ID: "early2", Attempt: leases[1].Attempt}, item.OK)
		nodes[0].mustDo(t, item.Op{Kind: item.Remove, ID: "early6"}, item.OK)
		nodes[0].mustDo(t, item.Op{Kind: item.Suspend, ID: "early4", Attempt: leases[3].Attempt}, item.OK)
		nodes[1].mustPush(t, newItems(3, 3, "late")...)
		nodes[1].mustDo(t, item.Op{Kind: item.Finish, ID: "late1"}, item.OK)
		inLedger(t, nodes[0])
		g, _ := nodes[0].keeper.Current()

		ledger.restore(backup)
		lineage.again()
		testenv.Eventually(t, func() bool {
			now, _ := nodes[0].keeper.Current()
			other, _ := nodes[1].keeper.Current()
			return now != nil && other != nil && now.Epoch != g.Epoch && now.Epoch == other.Epoch
		}, 20*time.Second)
		told := lineage.restores()
		if len(told) != 1 || told[0].Withheld != 3 || told[0].Dropped != 2 || !strings.Contains(told[0].Cause, "moves of queue replenishment") {
			t.Fatalf("told of %+v", told)
		}
		want := []string{"early6", "early2", "early1"}
		for _, n := range nodes {
			if got := n.withheld(t); !slices.Equal(got, want) {
				t.Errorf("withheld are %v, want %v", got, want)
			}
		}
		if diff := cmp.Diff([]string{"early3", "early4", "early5"}, nodes[1].order(t)); diff != "" {
			t.Errorf("workers get (-want +got)\n%s", diff)
		}
		if twin := nodes[0].mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Max: 10, Test: true}).Items; len(twin) != 2 {
			t.Errorf("the twin gives %v", idsOf(twin))
		}
		if got := nodes[0].mustStep(t, item.Step{By: "tester", Ops: []item.Op{{Kind: item.Ack, ID: "early3", Attempt: leases[2].Attempt}}}); got.Results[0].Outcome == item.OK {
			t.Error("a lease of before the restore holds")
		}

		if n, err := nodes[1].RequeueDead(t.Context(), item.Bulk{By: "tester", Order: &item.Order{Via: "test"}}); err != nil || n != 0 {
			t.Errorf("%d items were requeued without a decision, %v", n, err)
		}
		// The decision: one is ended, one runs again, one waits on, also over a loss of Redis.
		nodes[0].mustDo(t, item.Op{Kind: item.Remove, ID: "early1"}, item.OK)
		nodes[0].mustDo(t, item.Op{Kind: item.Requeue, ID: "early2"}, item.OK)
		if got := nodes[1].order(t); !slices.Equal(got, []string{"early2"}) {
			t.Errorf("workers get %v", got)
		}
		inLedger(t, nodes[0])
		if got := nodes[0].withheld(t); !slices.Equal(got, []string{"early6"}) {
			t.Errorf("withheld are %v", got)
		}
		traced, err := nodes[0].Get(t.Context(), false, nil, "early6")
		if err != nil || traced.Item.State != item.Dead || traced.Trace[len(traced.Trace)-1].Note != withheldNote {
			t.Errorf("the item is %+v, %v", traced, err)
		}
	})
}

// withheld are the ids of the items that wait for an operator.
func (n *node) withheld(t testing.TB) (ids []string) {
	t.Helper()
	page, err := n.List(t.Context(), item.Query{State: item.WithheldState, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range page.Items {
		ids = append(ids, page.Items[i].ID)
	}
	return ids
}

// A ledger that another server serves, and that has everything, ends nothing.
func TestFailoverWithoutALossEndsNothing(t *testing.T) {
	t.Parallel()
	ledger, lineage := newMemoryLedger(), &reconnects{}
	n := newNode(t, testenv.Miniredis(t).Addr(), ledger, lineage.option)
	n.mustPush(t, newItems(3, 3, "a")...)
	n.mustDo(t, item.Op{Kind: item.Finish, ID: "a1"}, item.OK)
	inLedger(t, n)
	g, _ := n.keeper.Current()
	lineage.again()
	n.mustPush(t, newItems(1, 3, "b")...) // waits for the comparison
	if !n.keeper.Is(g) || len(lineage.restores()) != 0 {
		t.Errorf("an epoch ended: %+v", lineage.restores())
	}
	if got := n.order(t); !slices.Equal(got, []string{"a2", "a3", "b1"}) {
		t.Errorf("workers get %v", got)
	}
}

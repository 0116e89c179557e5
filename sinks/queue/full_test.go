package queue

import (
	"context"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// A full Redis refuses new items. Workers go on, and what they do reaches the ledger: otherwise it would be in Redis
// alone, as long as Redis is full.
func TestMovesReachTheLedgerFromAFullRedis(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	ledger := newMemoryLedger()
	n := newNode(t, r.Addr, ledger)
	operations := map[item.State]item.Op{
		item.Done:      {Kind: item.Ack},
		item.Delayed:   {Kind: item.Nack, Delay: time.Hour},
		item.Suspended: {Kind: item.Suspend},
		item.Stored:    {Kind: item.Store, Delay: time.Hour},
		item.Ready:     {Kind: item.Release},
	}
	n.mustPush(t, newItems(len(operations), 3, "i")...)
	if err := r.Client(t).ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	leases := n.mustLease(t, "w1", len(operations))
	if len(leases) != len(operations) {
		t.Fatalf("a full Redis leases %v", idsOf(leases))
	}
	for state, op := range operations {
		op.ID, op.Attempt, leases = leases[0].ID, leases[0].Attempt, leases[1:]
		if out := n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w1"}, Ops: []item.Op{op}}); out.Results[0].Outcome != item.OK {
			t.Errorf("a full Redis answers %+v to %s", out.Results[0], op.Kind)
		}
		ledger.traced(t, op.ID, state)
	}
	n.mustLease(t, "w2", 1)
	for _, change := range []func(context.Context, bool, string, *item.Order) error{n.Pause, n.Resume} {
		if err := change(t.Context(), false, "tester", &item.Order{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := n.Push(t.Context(), false, "tester", newItems(1, 3, "late")); err == nil {
		t.Error("a full Redis takes a new item")
	}
}

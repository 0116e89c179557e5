package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// work leases one item as the worker and does the operation with it.
func (n *node) work(t testing.TB, worker string, op item.Op) string {
	t.Helper()
	leases := n.mustLease(t, worker, 1)
	if len(leases) != 1 {
		t.Fatalf("%s got %v", worker, idsOf(leases))
	}
	op.ID, op.Attempt = leases[0].ID, leases[0].Attempt
	out := n.mustStep(t, item.Step{Caller: item.Caller{Worker: worker}, Ops: []item.Op{op}})
	if out.Results[0].Outcome != item.OK {
		t.Fatalf("%+v", out.Results[0])
	}
	return op.ID
}

// traced waits until the ledger has the item in the state, and returns its trace in short.
func (l *memoryLedger) traced(t testing.TB, id string, state item.State) []string {
	t.Helper()
	testenv.Eventually(t, func() bool { return l.state(id) == state }, 60*time.Second)
	_, trace, err := l.ItemTrace(t.Context(), queueName, id)
	if err != nil {
		t.Fatal(err)
	}
	short := make([]string, len(trace))
	for i, m := range trace {
		short[i] = fmt.Sprintf("%d %s>%s %d %s", m.N, m.From, m.To, m.Attempt, m.By)
	}
	return short
}

func TestMovesReachTheLedgerInOrder(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n := newNode(t, t.addr, ledger)
		ids := n.mustPush(t, newItems(3, 3, "i")...)
		n.work(t, "w1", item.Op{Kind: item.Nack, Delay: time.Hour, Note: "no such bin"})
		n.work(t, "w1", item.Op{Kind: item.Ack})
		n.work(t, "w2", item.Op{Kind: item.Ack})
		want := []string{"0 >ready 0 tester", "1 ready>leased 1 w2", "2 leased>done 1 w2"}
		if diff := cmp.Diff(want, ledger.traced(t, ids[2], item.Done)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		want = []string{"0 >ready 0 tester", "1 ready>leased 1 w1", "2 leased>delayed 1 w1"}
		if diff := cmp.Diff(want, ledger.traced(t, ids[0], item.Delayed)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		testenv.Eventually(t, func() bool { // what is in the ledger is let go
			left, err := n.client.LLen(t.Context(), n.lines[0].keys.outbox()).Result()
			return err == nil && left == 0
		}, 10*time.Second)
	})
}

// Two nodes, a ledger that fails now and then: each move is recorded once.
func TestEachMoveIsRecordedOnce(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	ledger := &shakyLedger{memoryLedger: newMemoryLedger()}
	const items = 400
	nodes := []*node{newNode(t, r.Addr, ledger), newNode(t, r.Addr, ledger)}
	ids := nodes[0].mustPush(t, newItems(items, 3, "i")...)
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			for range items / 2 {
				n.work(t, fmt.Sprintf("w%d", i), item.Op{Kind: item.Ack})
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if got := ledger.traced(t, id, item.Done); len(got) != 3 {
			t.Fatalf("the trace of %s: %v", id, got)
		}
	}
	if ledger.failed.n == 0 {
		t.Error("the ledger never failed; the test proves nothing")
	}
}

// shakyLedger fails the first time and every third one after it, before or after it has done what it was asked.
type shakyLedger struct {
	*memoryLedger
	failed struct {
		sync.Mutex
		calls, n int
	}
}

func (l *shakyLedger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	l.failed.Lock()
	defer l.failed.Unlock()
	l.failed.calls++
	if l.failed.calls%3 != 1 {
		return l.memoryLedger.ApplyMoves(ctx, queue, epoch, entries)
	}
	l.failed.n++
	if l.failed.n%2 == 1 {
		if err := l.memoryLedger.ApplyMoves(ctx, queue, epoch, entries); err != nil {
			return err
		}
	}
	return errors.New("the connection broke")
}

func TestTheLastMovesAreDrainedAtTheEnd(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNode(t, testenv.Redis(t).Addr, ledger)
	n.mustPush(t, newItems(1, 3, "i")...)
	testenv.Eventually(t, func() bool { return n.drainers[0].drains() }, 60*time.Second)
	id := n.work(t, "w", item.Op{Kind: item.Ack})
	n.stop()
	if got := ledger.state(id); got != item.Done {
		t.Errorf("the ledger has it as %s", got)
	}
}

// If the node that drains dies, another node drains when the right of the dead node has ended.
func TestAnotherNodeDrainsForOneThatDied(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNode(t, testenv.Redis(t).Addr, ledger)
	testenv.Eventually(t, func() bool { return n.drainers[0].drains() }, 60*time.Second)
	until := time.Now().Add(drainHold / 2)
	meta := n.lines[0].keys.meta()
	if err := n.client.HSet(t.Context(), meta, "drainer", "node-that-died", "drain_until", until.UnixMicro()).Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool { return !n.drainers[0].drains() }, 60*time.Second)
	n.mustPush(t, newItems(1, 3, "i")...)
	id := n.work(t, "w", item.Op{Kind: item.Ack})
	ledger.traced(t, id, item.Done)
	if time.Now().Before(until) {
		t.Error("it did not wait for the right of the other to end")
	}
}

func TestAnEntryThatCannotBeReadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNode(t, testenv.Redis(t).Addr, ledger)
	k := n.lines[0].keys
	for _, bad := range []string{"", "what is this", "1780272600000000 node 0\n1 2 3"} {
		if err := n.client.RPush(t.Context(), k.outbox(), bad).Err(); err != nil {
			t.Fatal(err)
		}
		if err := n.client.HIncrBy(t.Context(), k.meta(), "out", 1).Err(); err != nil {
			t.Fatal(err)
		}
	}
	n.mustPush(t, newItems(1, 3, "i")...)
	ledger.traced(t, n.work(t, "w", item.Op{Kind: item.Ack}), item.Done)
}

// An outbox that is behind what the ledger has of it is one that Redis lost.
func TestAnOutboxThatHasGoneBackIsALoss(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	r := testenv.Redis(t)
	n := newNode(t, r.Addr, ledger)
	n.mustPush(t, newItems(2, 3, "i")...)
	ledger.traced(t, n.work(t, "w", item.Op{Kind: item.Ack}), item.Done)
	n.stop()
	if err := r.Client(t).HSet(t.Context(), n.lines[0].keys.meta(), "out", 0, "drained", 0).Err(); err != nil {
		t.Fatal(err)
	}
	again := newNode(t, r.Addr, ledger)
	if ledger.epochs() != 2 {
		t.Errorf("%d epochs", ledger.epochs())
	}
	if got := idsOf(again.mustLease(t, "w", 10)); len(got) != 1 || got[0] != "i2" {
		t.Errorf("it has %v", got)
	}
}

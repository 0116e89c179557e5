package queue

import (
	"context"
	"sync/atomic"
	"testing"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// busyLedger lets something happen whenever it is asked how far it is.
type busyLedger struct {
	*memoryLedger

	between func()
	asked   atomic.Bool
}

func (l *busyLedger) AppliedMoves(ctx context.Context, queue, epoch string) (int64, error) {
	if l.asked.CompareAndSwap(false, true) {
		l.between()
	}
	return l.memoryLedger.AppliedMoves(ctx, queue, epoch)
}

// A node that comes to a queue in which others work must not take their progress, while it looks, for a loss.
func TestANodeThatComesToABusyQueueServesIt(t *testing.T) {
	t.Parallel()
	addr := testenv.Redis(t).Addr
	ledger := newMemoryLedger()
	n := newNode(t, addr, ledger)
	n.mustPush(t, newItems(3, 3, "i")...)
	got := n.mustLease(t, "w", 1)
	inLedger(t, n)
	busy := &busyLedger{memoryLedger: ledger, between: func() {
		n.finishFirst(t)
		inLedger(t, n)
	}}
	newNodeThat(t, keep, addr, busy)
	if !busy.asked.Load() {
		t.Fatal("the node did not compare Redis with the ledger")
	}
	n.mustDo(t, item.Op{Kind: item.Ack, ID: got[0].ID, Attempt: got[0].Attempt}, item.OK)
	if epochs := ledger.epochs(); epochs != 1 {
		t.Errorf("the queue was written back: %d epochs have begun", epochs)
	}
}

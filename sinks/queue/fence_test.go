package queue

import (
	"context"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// A lease that the ledger never got has ended when Redis is lost. This also holds if Redis is lost several times before
// the ledger gets anything: the attempt of the present holder never belonged to another.
func TestALeaseOfAnyLossBeforeIsLost(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	undrained := func(q *Queue, ctx context.Context) { q.keeper.Run(ctx) }
	n := newNodeThat(t, undrained, r.Addr, newMemoryLedger())
	n.mustPush(t, newItems(1, 3, "a")...)
	var before []item.Lease
	for range 4 {
		for _, old := range before {
			n.mustDo(t, item.Op{Kind: item.Ack, ID: "a1", Attempt: old.Attempt}, item.LeaseLost)
		}
		lease := n.mustLease(t, "w", 1)
		if len(lease) != 1 {
			t.Fatalf("it is not back: %v", lease)
		}
		before = append(before, lease[0])
		for _, old := range before[:len(before)-1] {
			n.mustDo(t, item.Op{Kind: item.Ack, ID: "a1", Attempt: old.Attempt}, item.LeaseLost)
		}
		r.Restart()
		testenv.Eventually(t, func() bool {
			s, err := n.Sizes(t.Context(), false, nil)
			return err == nil && s.Ready == 1
		}, 20*time.Second)
	}
}

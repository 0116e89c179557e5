package queue

import (
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// If no worker asks, leases still end and due items still become ready, in Redis and in the ledger.
func TestWhatIsDueIsPromotedWhileNobodyAsks(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock, ledger := newTestClock(time.Now()), newMemoryLedger()
		n := newNode(t, t.addr, ledger, clock.option)
		n.mustPush(t, newItems(3, 3, "i")...)
		n.mustLease(t, "w", 1)
		n.mustDo(t, item.Op{Kind: item.Suspend, ID: "i2"}, item.OK)
		n.mustDo(t, item.Op{Kind: item.Store, ID: "i3", Delay: time.Hour}, item.OK)
		clock.advance(24 * time.Hour)
		testenv.Eventually(t, func() bool {
			s, err := n.Sizes(t.Context(), false, nil)
			return err == nil && s.Ready == 3 && s.Leased+s.Suspended+s.Stored == 0
		}, 60*time.Second)
		testenv.Eventually(t, func() bool {
			got, err := n.Get(t.Context(), false, nil, "i1")
			if err != nil || len(got.Trace) == 0 {
				return false
			}
			last := got.Trace[len(got.Trace)-1]
			return last.From == item.Leased && last.To == item.Ready && last.By == "" && last.Failures == 1
		}, 60*time.Second)
	})
}

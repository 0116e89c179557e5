package inbox

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/sinks"
)

func TestDeliverAndPoll(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, addr string) {
		n := newNode(t, addr, newMemoryLedger())
		began := time.Now().UnixMicro()
		batch := makeDeliveries(3, wh, "user:1", "role:keeper")
		other := makeDeliveries(2, wh, "user:2")
		receipts := n.deliver(t, slices.Concat(batch, other))

		last := began - int64(time.Minute/time.Microsecond) // the server's clock may differ a little
		for i, r := range receipts {
			if r.Score <= last || r.Epoch != n.ledger.epoch() {
				t.Errorf("receipt %d: %+v after score %d", i, r, last)
			}
			last = r.Score
		}
		for subscriber, want := range map[string][]sinks.Delivery{"user:1": batch, "role:keeper": batch, "user:2": other, "user:3": nil} {
			pg := n.poll(t, query(subscriber))
			if diff := cmp.Diff(idsOf(want), ids(pg)); diff != "" {
				t.Errorf("%s: -want +got\n%s", subscriber, diff)
			}
			if pg.Unread != len(want) || pg.UnreadMore || pg.More || pg.Reset || pg.Clock != receipts[4].Score {
				t.Errorf("%s: %+v", subscriber, pg)
			}
		}
		pg := n.poll(t, query("user:1", "role:keeper", "user:2"))
		if diff := cmp.Diff(idsOf(slices.Concat(batch, other)), ids(pg)); diff != "" {
			t.Errorf("all of them: -want +got\n%s", diff)
		}
		if pg.Unread != 5 {
			t.Errorf("unread %d", pg.Unread)
		}
		if diff := cmp.Diff(batch[0].Notice, pg.Notices[0].Notice); diff != "" || pg.Notices[0].Score != receipts[0].Score {
			t.Errorf("the notice changed on its way: -want +got\n%s", diff)
		}
	})
}

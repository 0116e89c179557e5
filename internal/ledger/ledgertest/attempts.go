package ledgertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

var attemptTests = []testCase{
	{"attempts at a push channel are kept, the latest first", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, newNotice("n_1")))
		var want []delivery.Attempt
		for _, kind := range []delivery.SettleKind{delivery.SettleAgain, delivery.SettleRelease, delivery.SettleFailed, delivery.SettleSent} {
			made := delivery.Attempt{Took: 1500 * time.Microsecond, Status: 500 + int(kind), Error: "no route"}
			if kind == delivery.SettleSent {
				made.Status, made.Error = 200, ""
			}
			c := f.claimPushes(t, "a", 1).List[0]
			f.clock.Add(time.Second)
			noError(t, f.SettlePushes(t.Context(), []delivery.Settlement{{Seq: c.Seq, Token: c.Token, Kind: kind, Attempt: made}}))
			if kind == delivery.SettleFailed {
				_, _, err := f.RetryDeliveries(t.Context(), Ann, []int64{c.Seq})
				noError(t, err)
			}
			made.At = f.clock.Now()
			want = append([]delivery.Attempt{made}, want...)
			f.hasTried(t, c.Seq, want)
		}
		f.hasAttempts(t, 1, ledger.DeliverySent, 3, "") // the released attempt does not count
	}},
	{"an attempt began as long ago as the node has measured, by the ledger's clock", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, newNotice("n_1")))
		c := f.claimPushes(t, "a", 1).List[0]
		made := delivery.Attempt{At: time.Now().Add(-time.Minute), Took: time.Second}
		noError(t, f.SettlePushes(t.Context(), []delivery.Settlement{{Seq: c.Seq, Token: c.Token, Kind: delivery.SettleSent, Attempt: made}}))
		d, err := f.Delivery(t.Context(), c.Seq)
		noError(t, err)
		if ago := start.Sub(d.Tried[0].At); ago < time.Minute || ago > 2*time.Minute {
			t.Fatalf("it began %s ago", ago)
		}
	}},
	{"an attempt under a claim that is not in force is not kept, and none without one", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, newNotice("n_1")))
		old := f.claimPushes(t, "a", 1).List
		f.clock.Add(lease)
		got := f.claimPushes(t, "b", 1).List
		for _, kind := range []delivery.SettleKind{delivery.SettleAgain, delivery.SettleFailed} {
			f.settle(t, old, kind, 0)
		}
		cut := settled(old, delivery.SettleRelease, 0)
		cut[0].Error = "cut off"
		noError(t, f.SettlePushes(t.Context(), cut))
		f.settle(t, got, delivery.SettleRelease, 0)
		f.hasTried(t, 1, nil)
	}},
	{"of many attempts the last ones are kept", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, newNotice("n_1")))
		var want []delivery.Attempt
		for n := range delivery.KeptAttempts + 10 {
			made := delivery.Attempt{Error: fmt.Sprint(n, " ", strings.Repeat("仓", 100)), Status: 503}
			c := f.claimPushes(t, "a", 1).List[0]
			noError(t, f.SettlePushes(t.Context(), []delivery.Settlement{{Seq: c.Seq, Token: c.Token, Kind: delivery.SettleAgain, Attempt: made}}))
			made.At, made.Error = f.clock.Now(), strings.ToValidUTF8(made.Error[:250], "")
			want = append([]delivery.Attempt{made}, want...)
		}
		f.hasTried(t, 1, want[:delivery.KeptAttempts])
		list, err := f.ListDeliveries(t.Context(), ledger.DeliveryFilter{Limit: 1})
		noError(t, err)
		equal(t, 0, len(list[0].Tried)) // lists come without attempts
	}},
	{"the inbox keeps failed attempts, and the success after them", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, numbered("n_", 3)...))
		list := f.pending(t, inboxLane)
		failed := delivery.Attempt{Took: time.Second, Error: "out of reach"}
		noError(t, f.MarkAttempt(t.Context(), seqs(list[:2]), failed))
		failed.At = f.clock.Now()
		f.clock.Add(time.Minute)
		sent := delivery.Attempt{Took: time.Millisecond}
		noError(t, f.MarkSent(t.Context(), "", []delivery.Receipt{{Seq: list[0].Seq, Score: 1}, {Seq: list[2].Seq, Score: 2}}, sent))
		refused := delivery.Attempt{Took: time.Millisecond, Error: "too large"}
		noError(t, f.MarkFailed(t.Context(), seqs(list[1:2]), refused))
		sent.At, refused.At = f.clock.Now(), f.clock.Now()
		f.hasTried(t, list[0].Seq, []delivery.Attempt{sent, failed})
		f.hasTried(t, list[1].Seq, []delivery.Attempt{refused, failed})
		f.hasTried(t, list[2].Seq, []delivery.Attempt{{At: f.clock.Now()}})
	}},
}

// hasTried compares the attempts of a delivery.
func (f *pushChecks) hasTried(t testing.TB, seq int64, want []delivery.Attempt) {
	t.Helper()
	d, err := f.Delivery(t.Context(), seq)
	noError(t, err)
	if diff := cmp.Diff(want, d.Tried); diff != "" {
		t.Fatalf("the attempts of delivery %d (-want +got):\n%s", seq, diff)
	}
}

package ledgertest

import (
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// hold records that the silence holds back what was claimed.
func (f *fixture) hold(t testing.TB, id string, claims []delivery.Claimed, left time.Duration) {
	t.Helper()
	list := settled(claims, delivery.SettleHold, left)
	for i := range list {
		list[i].HeldBy, list[i].Error = id, ""
	}
	noError(t, f.SettlePushes(t.Context(), list))
}

func (f *fixture) heldBy(t testing.TB, seq int64) string {
	t.Helper()
	d, err := f.Delivery(t.Context(), seq)
	noError(t, err)
	return d.HeldBy
}

// hasWaiting checks which deliveries wait for more than their time, the latest first.
func (f *fixture) hasWaiting(t testing.TB, want ...int64) {
	t.Helper()
	list, err := f.ListDeliveries(t.Context(), ledger.DeliveryFilter{Held: true, Limit: 100})
	noError(t, err)
	var got []int64
	for i := range list {
		got = append(got, list[i].Seq)
	}
	equal(t, want, got)
}

// silencePushTests are of what silences do to deliveries to push channels.
var silencePushTests = []testCase{
	{"a delivery that is held back is due when the silence ends, and no attempt counts", func(t *testing.T, f *fixture) {
		f.register(t)
		one := silenced(t, "s_1", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		f.commit(t, 1, to([]ledger.Target{important}, numbered("n_", 2)...))
		got := f.claimPushes(t, "a", 1).List
		f.hold(t, "s_1", got, time.Minute)
		equal(t, "s_1", f.heldBy(t, got[0].Seq))
		f.hasWaiting(t, got[0].Seq)
		f.hasAttempts(t, got[0].Seq, ledger.DeliveryPending, 0, "")
		f.hasHeldBack(t, map[string]ledger.HeldBack{"s_1": {Deliveries: 1}})
		rest := f.claimPushes(t, "a", 10)
		equal(t, []string{"n_00001"}, claimedIDs(rest))
		f.settle(t, rest.List, delivery.SettleSent, 0)
		f.clock.Add(time.Minute)
		f.hasHeldBack(t, nil)
		f.hasWaiting(t)
		equal(t, "", f.heldBy(t, got[0].Seq))
		got = f.claimPushes(t, "b", 10).List
		equal(t, []string{"n_00000"}, claimedIDs(delivery.Claims{List: got}))
		equal(t, 0, got[0].Attempts)
		f.hold(t, "s_1", got, time.Minute)
		f.settle(t, got, delivery.SettleSent, 0) // an attempt that was under way before
		f.hasHeldBack(t, nil)
	}},
	{"ending a silence lets go what it holds, and what it was about to hold", func(t *testing.T, f *fixture) {
		f.register(t)
		one, two := silenced(t, "s_1", "rule=x"), silenced(t, "s_2", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		noError(t, f.AddSilence(t.Context(), Ann, &two))
		f.commit(t, 1, to([]ledger.Target{important}, numbered("n_", 4)...))
		got := f.claimPushes(t, "a", 4).List
		f.hold(t, "s_1", got[:1], time.Hour)
		f.hold(t, "s_2", got[1:2], time.Hour)
		_, err := f.EndSilence(t.Context(), author("user:bob"), "s_1", start.Add(time.Minute))
		noError(t, err)
		f.hold(t, "s_1", got[2:3], time.Hour) // by a node that does not know of it yet
		f.hold(t, "s_9", got[3:], time.Hour)
		again := f.claimPushes(t, "b", 10)
		equal(t, []string{"n_00000", "n_00002", "n_00003"}, claimedIDs(again))
		f.hasHeldBack(t, map[string]ledger.HeldBack{"s_2": {Deliveries: 1}})
	}},
	{"what is held back keeps its order, its deadline and the expiry of its notice", func(t *testing.T, f *fixture) {
		f.register(t)
		one := silenced(t, "s_1", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		f.commit(t, 1, to([]ledger.Target{within(30 * time.Second)}, ofKey("A", 0), ofKey("A", 1)))
		got := f.claimPushes(t, "a", 10).List
		equal(t, []string{"A_a"}, claimedIDs(delivery.Claims{List: got}))
		f.hasWaiting(t, got[0].Seq+1) // what is being tried is not held back, what is behind it is
		f.hold(t, "s_1", got, time.Hour)
		equal(t, 0, len(f.claimPushes(t, "a", 10).List))
		f.clock.Add(30 * time.Second)
		f.endPushes(t, 2, 0)
		f.hasHeldBack(t, nil)
		f.commit(t, 2, to([]ledger.Target{important}, newNotice("n_1")))
		got = f.claimPushes(t, "a", 10).List
		f.hold(t, "s_1", got, time.Hour)
		changed, _, err := f.RetryDeliveries(t.Context(), Ann, []int64{got[0].Seq})
		noError(t, err)
		equal(t, 1, len(changed))
		equal(t, "", f.heldBy(t, got[0].Seq))
		equal(t, 1, len(f.claimPushes(t, "b", 10).List))
	}},
	{"ending a silence while nodes hold back in its name leaves nothing behind", func(t *testing.T, f *fixture) {
		f.register(t)
		const rounds = 8
		b := f.other(t)
		for n := range rounds {
			one := silenced(t, "s_"+string(rune('a'+n)), "rule=x")
			noError(t, f.AddSilence(t.Context(), Ann, &one))
			f.commit(t, n+1, to([]ledger.Target{important}, numbered("n_"+one.ID, 5)...))
			got := f.claimPushes(t, "a", 5).List
			var wg sync.WaitGroup
			wg.Go(func() { f.hold(t, one.ID, got, time.Hour) })
			wg.Go(func() {
				if _, err := b.EndSilence(t.Context(), author("user:bob"), one.ID, start); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			again := f.claimPushes(t, "b", 10).List
			equal(t, 5, len(again))
			f.settle(t, again, delivery.SettleSent, 0)
		}
		f.hasHeldBack(t, nil)
	}},
}

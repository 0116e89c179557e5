package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

var pushPruneTests = []testCase{
	{"deliveries to push channels go with their notices", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{important, inbox}, numbered("n_", 3)...))
		f.settle(t, f.claimPushes(t, "a", 2).List, delivery.SettleSent, 0)
		f.send(t, f.pending(t, inboxLane), "", 1)
		f.clock.Add(48 * time.Hour)
		f.commit(t, 2, to([]ledger.Target{delayed(time.Hour, "")}, living("n_new", f.clock.Now())))
		removed, err := f.Prune(t.Context(), f.clock.Now(), 5)
		noError(t, err)
		equal(t, int64(9), removed)
		f.clock.Add(time.Hour)
		equal(t, []string{"n_new"}, claimedIDs(f.claimPushes(t, "a", 10)))
		list, err := f.ListDeliveries(t.Context(), ledger.DeliveryFilter{Limit: 100})
		noError(t, err)
		equal(t, 1, len(list))
	}},
	{"what has expired long ago at a push channel that is gone holds up nothing once it is back", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, ofKey("k", 0)))
		f.clock.Add(48 * time.Hour)
		young := ofKey("k", 1)
		young.CreatedAt, young.ExpiresAt = f.clock.Now(), f.clock.Now().Add(time.Hour)
		f.commit(t, 2, to([]ledger.Target{important}, young))
		equal(t, 0, len(f.claimPushes(t, "a", 10).List))
		removed, err := f.Prune(t.Context(), f.clock.Now(), 5)
		noError(t, err)
		equal(t, int64(2), removed)
		equal(t, []string{young.ID}, claimedIDs(f.claimPushes(t, "a", 10)))
	}},
}

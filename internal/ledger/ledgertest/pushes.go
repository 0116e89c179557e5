package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// gateway is the push channel of the tests.
const gateway = "gateway"

var gatewayLane = ledger.Lane{Sink: gateway}

// by returns the push channel as a target with the strategy.
func by(s delivery.Strategy) ledger.Target { return ledger.Target{Sink: gateway, Strategy: &s} }

var (
	important = by(delivery.Strategy{Kind: delivery.Important})
	untilSent = by(delivery.Strategy{Kind: delivery.Important, Until: delivery.UntilSent})
	immediate = by(delivery.Strategy{Kind: delivery.Immediate})
)

func within(limit time.Duration) ledger.Target {
	return by(delivery.Strategy{Kind: delivery.Timed, Within: limit})
}

func delayed(delay time.Duration, unless delivery.Unless) ledger.Target {
	return by(delivery.Strategy{Kind: delivery.Delayed, Delay: delay, Retry: 2, Unless: unless})
}

// ofKey makes the n-th notice of a finding.
func ofKey(key string, n int) *notice.Notice {
	out := newNotice(key + "_" + "abcdef"[n:n+1])
	out.Key = `["` + key + `"]`
	return out
}

var pushTests = []testCase{
	{"a push channel's deliveries come with their strategy, the earliest first", func(t *testing.T, f *fixture) {
		f.register(t)
		at := start.Add(45 * time.Second)
		strategies := []delivery.Strategy{
			{Kind: delivery.Delayed, At: at, Retry: 3, Unless: delivery.UnlessRead},
			{Kind: delivery.Delayed, Delay: 30 * time.Second, Unless: delivery.UnlessAcked},
			{Kind: delivery.Timed, Within: time.Hour},
			{Kind: delivery.Important, Until: delivery.UntilSent},
		}
		for i, s := range strategies {
			done := f.commit(t, i+1, to([]ledger.Target{by(s)}, newNotice(string(s.Kind)+string(rune('0'+i)))))
			equal(t, ledger.CommitResult{Deliveries: 1, Lanes: []ledger.Lane{gatewayLane}}, done)
		}
		got := f.claimPushes(t, "a", 10)
		equal(t, start, got.At)
		equal(t, 30*time.Second, got.Next)
		equal(t, []string{"timed2", "important3"}, claimedIDs(got))
		equal(t, strategies[2], got.List[0].Strategy)
		equal(t, start.Add(time.Hour), got.List[0].Deadline)
		equal(t, strategies[3], got.List[1].Strategy)
		equal(t, time.Time{}, got.List[1].Deadline)
		f.clock.Add(45 * time.Second)
		got = f.claimPushes(t, "a", 10)
		equal(t, []string{"delayed1", "delayed0"}, claimedIDs(got))
		equal(t, strategies[1], got.List[0].Strategy)
		equal(t, strategies[0], got.List[1].Strategy)
		equal(t, newNotice("delayed0"), got.List[1].Notice)
	}},
	{"a claim lasts for its lease, or until it is settled", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, numbered("n_", 3)...))
		b := f.other(t)
		first := f.claimPushes(t, "a", 2)
		equal(t, []string{"n_00000", "n_00001"}, claimedIDs(first))
		equal(t, true, first.More)
		equal(t, time.Duration(0), first.Next)
		got, err := b.ClaimPushes(t.Context(), gateway, "b", lease, 10)
		noError(t, err)
		equal(t, []string{"n_00002"}, claimedIDs(got))
		equal(t, false, got.More)
		equal(t, lease, got.Next)
		f.clock.Add(lease - time.Microsecond)
		equal(t, 0, len(f.claimPushes(t, "a", 10).List))
		f.clock.Add(time.Microsecond)
		again := f.claimPushes(t, "a", 10)
		equal(t, 3, len(again.List))
		for i, c := range again.List[:2] {
			if c.Token <= first.List[i].Token {
				t.Fatalf("token %d after %d", c.Token, first.List[i].Token)
			}
		}
		f.settle(t, again.List, delivery.SettleSent, 0)
		f.clock.Add(24 * time.Hour)
		last := f.claimPushes(t, "a", 10)
		equal(t, delivery.Claims{At: f.clock.Now()}, last)
		f.hasGateway(t, map[ledger.DeliveryState]int64{1: 3})
	}},
}

func (f *pushChecks) claimPushes(t testing.TB, node string, limit int) delivery.Claims {
	t.Helper()
	got, err := f.ClaimPushes(t.Context(), gateway, node, lease, limit)
	noError(t, err)
	return got
}

// settle settles all claims with the same result.
func (f *pushChecks) settle(t testing.TB, list []delivery.PushClaim, kind delivery.SettleKind, after time.Duration) {
	t.Helper()
	noError(t, f.SettlePushes(t.Context(), settled(list, kind, after)))
}

func settled(list []delivery.PushClaim, kind delivery.SettleKind, after time.Duration) []delivery.Settlement {
	out := make([]delivery.Settlement, len(list))
	for i, c := range list {
		out[i] = delivery.Settlement{Seq: c.Seq, Token: c.Token, Kind: kind, After: after}
		if kind == delivery.SettleFailed || kind == delivery.SettleAgain {
			out[i].Error = "no route"
		}
	}
	return out
}

func claimedIDs(c delivery.Claims) []string {
	out := make([]string, len(c.List))
	for i := range c.List {
		out[i] = c.List[i].Notice.ID
	}
	return out
}

// hasGateway compares the numbers of deliveries of the push channel.
func (f *pushChecks) hasGateway(t testing.TB, want map[ledger.DeliveryState]int64) {
	t.Helper()
	counts, err := f.CountDeliveries(t.Context())
	noError(t, err)
	equal(t, want, counts[gateway])
}

// living makes a notice that is created at the time and lives for a day.
func living(id string, at time.Time) *notice.Notice {
	n := newNotice(id)
	n.CreatedAt, n.ExpiresAt = at, at.Add(24*time.Hour)
	return n
}

var pushSettleTests = []testCase{
	{"attempts are recorded as they ended", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, numbered("n_", 4)...))
		got := f.claimPushes(t, "a", 4).List
		f.clock.Add(time.Second)
		var all []delivery.Settlement
		for i, kind := range []delivery.SettleKind{delivery.SettleSent, delivery.SettleFailed, delivery.SettleAgain, delivery.SettleRelease} {
			all = append(all, settled(got[i:i+1], kind, time.Minute)...)
		}
		noError(t, f.SettlePushes(t.Context(), all))
		f.hasAttempts(t, got[0].Seq, ledger.DeliverySent, 1, "")
		f.hasAttempts(t, got[1].Seq, ledger.DeliveryFailed, 1, "no route")
		f.hasAttempts(t, got[2].Seq, ledger.DeliveryPending, 1, "no route")
		f.hasAttempts(t, got[3].Seq, ledger.DeliveryPending, 0, "")
		next := f.claimPushes(t, "b", 10)
		equal(t, []int64{got[3].Seq}, claimedSeqs(next))
		equal(t, lease, next.Next) // both the lease and the minute until the other delivery is due
		f.clock.Add(time.Minute)
		next = f.claimPushes(t, "b", 10)
		equal(t, []int64{got[3].Seq, got[2].Seq}, claimedSeqs(next)) // the earliest due first
		equal(t, []int{0, 1}, []int{next.List[0].Attempts, next.List[1].Attempts})
		noError(t, f.SettlePushes(t.Context(), nil))
	}},
	{"under an old or settled claim only sent is recorded", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, newNotice("n_1")))
		old := f.claimPushes(t, "a", 1).List
		f.clock.Add(lease)
		got := f.claimPushes(t, "b", 1).List
		for _, kind := range []delivery.SettleKind{delivery.SettleFailed, delivery.SettleAgain, delivery.SettleRelease} {
			f.settle(t, old, kind, 0)
			f.hasAttempts(t, old[0].Seq, ledger.DeliveryPending, 0, "")
			equal(t, 0, len(f.claimPushes(t, "a", 1).List))
		}
		f.settle(t, got, delivery.SettleAgain, 0)
		f.settle(t, got, delivery.SettleAgain, time.Hour) // repeated, as after a lost answer
		f.settle(t, got, delivery.SettleFailed, 0)
		f.hasAttempts(t, got[0].Seq, ledger.DeliveryPending, 1, "no route")
		got = f.claimPushes(t, "b", 1).List
		equal(t, 1, len(got))
		f.settle(t, old, delivery.SettleSent, 0)
		f.hasAttempts(t, got[0].Seq, ledger.DeliverySent, 2, "")
		for _, kind := range []delivery.SettleKind{delivery.SettleSent, delivery.SettleFailed, delivery.SettleAgain, delivery.SettleRelease} {
			f.settle(t, got, kind, 0)
			f.hasAttempts(t, got[0].Seq, ledger.DeliverySent, 2, "")
		}
	}},
	{"a claim whose lease is over is settled when nobody took it", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{immediate}, newNotice("n_1")))
		got := f.claimPushes(t, "a", 1).List
		f.clock.Add(2 * lease)
		f.settle(t, got, delivery.SettleFailed, 0)
		f.hasAttempts(t, got[0].Seq, ledger.DeliveryFailed, 1, "no route")
		oldest, err := f.OldestFailed(t.Context())
		noError(t, err)
		equal(t, map[string]time.Time{gateway: f.clock.Now()}, oldest)
	}},
	{"sent is recorded even if the delivery was canceled, failed or timed out meanwhile", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{within(time.Second)}, numbered("n_", 3)...))
		got := f.claimPushes(t, "a", 3).List
		f.settle(t, got[:1], delivery.SettleFailed, 0)
		_, err := f.CancelDeliveries(t.Context(), Ann, []int64{got[1].Seq}, "no")
		noError(t, err)
		f.clock.Add(time.Second)
		f.endPushes(t, 1, 0)
		f.hasGateway(t, map[ledger.DeliveryState]int64{2: 1, 3: 1, 4: 1})
		f.settle(t, got, delivery.SettleSent, 0)
		f.hasGateway(t, map[ledger.DeliveryState]int64{1: 3})
		f.hasAttempts(t, got[1].Seq, ledger.DeliverySent, 1, "")
	}},
	{"of several settlements of one delivery sent counts, otherwise the last one", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, numbered("n_", 2)...))
		got := f.claimPushes(t, "a", 2).List
		both := append(settled(got, delivery.SettleSent, 0), settled(got, delivery.SettleFailed, 0)...)
		both[0].Kind = delivery.SettleAgain
		noError(t, f.SettlePushes(t.Context(), both))
		f.hasAttempts(t, got[0].Seq, ledger.DeliveryFailed, 1, "no route")
		f.hasAttempts(t, got[1].Seq, ledger.DeliverySent, 1, "")
	}},
	{"an error that is not valid text is recorded all the same, and no wait is too long", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, newNotice("n_1")))
		got := f.claimPushes(t, "a", 1).List
		noError(t, f.SettlePushes(t.Context(), []delivery.Settlement{
			{Seq: got[0].Seq, Token: got[0].Token, Kind: delivery.SettleAgain, After: 1<<63 - 1, Attempt: delivery.Attempt{Error: "\xff\x00"}},
		}))
		f.hasAttempts(t, got[0].Seq, ledger.DeliveryPending, 1, "\uFFFD\uFFFD")
		f.clock.Add(24*time.Hour - time.Second)
		equal(t, 0, len(f.claimPushes(t, "a", 1).List))
	}},
	{"a delivery past its deadline, or whose notice has expired, ends and is never claimed", func(t *testing.T, f *fixture) {
		f.register(t)
		f.endPushes(t, 0, 0) // nothing was ever delivered to the channel
		both := newNotice("n_both")
		both.ExpiresAt = start.Add(time.Minute)
		f.commit(t, 1, to([]ledger.Target{important}, newNotice("n_expiring")))
		f.commit(t, 2, to([]ledger.Target{within(time.Hour)}, newNotice("n_late"), both))
		f.commit(t, 3, to([]ledger.Target{delayed(48*time.Hour, "")}, newNotice("n_never")))
		f.endPushes(t, 0, 0)
		f.settle(t, f.claimPushes(t, "a", 1).List, delivery.SettleAgain, 0)
		f.clock.Add(time.Hour - time.Microsecond)
		equal(t, []string{"n_expiring", "n_late"}, sorted(claimedIDs(f.claimPushes(t, "a", 10))))
		f.endPushes(t, 0, 1)
		f.clock.Add(time.Microsecond)
		f.endPushes(t, 1, 0) // although the delivery is claimed
		f.endPushes(t, 0, 0)
		f.clock.Add(23 * time.Hour)
		equal(t, delivery.Claims{At: f.clock.Now()}, f.claimPushes(t, "a", 10))
		f.endPushes(t, 0, 2)
		f.hasAttempts(t, 1, ledger.DeliveryCanceled, 1, "the notice has expired")
		f.hasAttempts(t, 2, ledger.DeliveryTimedOut, 0, "the deadline passed before the first attempt")
	}},
	{"no more than the limit is ended at a time, the first to end first", func(t *testing.T, f *fixture) {
		f.register(t)
		for n := range 3 {
			f.commit(t, n+1, to([]ledger.Target{within(time.Duration(3-n) * time.Minute)}, newNotice("n_"+string(rune('a'+n)))))
		}
		f.clock.Add(time.Hour)
		late, expired, err := f.EndPushes(t.Context(), gateway, 2)
		noError(t, err)
		equal(t, []int{2, 0}, []int{late, expired})
		f.hasAttempts(t, 1, ledger.DeliveryPending, 0, "")
		f.endPushes(t, 1, 0)
	}},
	{"a node that had the claim before a deadline was moved finds it ended", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{within(time.Second)}, newNotice("n_1")))
		got := f.claimPushes(t, "a", 1).List
		f.clock.Add(time.Second)
		f.endPushes(t, 1, 0)
		f.settle(t, got, delivery.SettleAgain, 0)
		f.hasAttempts(t, got[0].Seq, ledger.DeliveryTimedOut, 0, "the deadline passed before the first attempt")
		f.settle(t, got, delivery.SettleRelease, 0)
		equal(t, 0, len(f.claimPushes(t, "a", 1).List))
	}},
}

// hasAttempts checks the state of a delivery, the number of its attempts, and its last error.
func (f *pushChecks) hasAttempts(t testing.TB, seq int64, state ledger.DeliveryState, attempts int, lastError string) {
	t.Helper()
	d, err := f.Delivery(t.Context(), seq)
	noError(t, err)
	equal(t, state, d.State)
	equal(t, attempts, d.Attempts)
	equal(t, lastError, d.LastError)
}

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
	{"a delivery with until: sent outlives the expiry of its notice, and the notice stays as long", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{untilSent}, numbered("n_", 4)...))
		f.commit(t, 2, to([]ledger.Target{untilSent, important}, ofKey("k", 0)))
		whole := newNotice("n_00000")
		f.settle(t, f.claimPushes(t, "a", 10).List, delivery.SettleAgain, time.Hour)
		f.clock.Add(365 * 24 * time.Hour)
		f.endPushes(t, 0, 1) // the delivery that expires with its notice
		removed, err := f.Prune(t.Context(), f.clock.Now(), 5)
		noError(t, err)
		equal(t, int64(0), removed)
		got := f.claimPushes(t, "a", 10).List
		equal(t, 5, len(got))
		equal(t, whole, got[0].Notice)
		f.settle(t, got[:1], delivery.SettleSent, 0)
		f.settle(t, got[1:2], delivery.SettleFailed, 0)
		changed, err := f.CancelDeliveries(t.Context(), Ann, []int64{got[2].Seq, got[3].Seq}, "no")
		noError(t, err)
		equal(t, []int64{got[2].Seq, got[3].Seq}, changed)
		again := []int64{got[1].Seq, got[2].Seq}
		changed, _, err = f.RetryDeliveries(t.Context(), Ann, again)
		noError(t, err)
		equal(t, again, changed)
		equal(t, again, claimedSeqs(f.claimPushes(t, "a", 10)))
		sent, err := f.Delivery(t.Context(), got[0].Seq)
		noError(t, err)
		equal(t, untilSent.Strategy, sent.Strategy)
		removed, err = f.Prune(t.Context(), f.clock.Now(), 5)
		noError(t, err)
		equal(t, int64(4), removed) // the sent delivery and the canceled one, with their notices
	}},
	{"deliveries that expired long ago at a removed push channel do not block it when it is back", func(t *testing.T, f *fixture) {
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

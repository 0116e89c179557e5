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

// by is the push channel under a strategy.
func by(s delivery.Strategy) ledger.Target { return ledger.Target{Sink: gateway, Strategy: &s} }

var (
	important = by(delivery.Strategy{Kind: delivery.Important})
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
			{Kind: delivery.Important},
		}
		for i, s := range strategies {
			done := f.commit(t, i+1, to([]ledger.Target{by(s)}, newNotice(string(s.Kind)+string(rune('0'+i)))))
			equal(t, ledger.Committed{Deliveries: 1, Lanes: []ledger.Lane{gatewayLane}}, done)
		}
		got := f.claimPushes(t, "a", 10)
		equal(t, start, got.At)
		equal(t, 30*time.Second, got.Next)
		equal(t, []string{"timed2", "important3"}, claimedIDs(got))
		equal(t, strategies[2], got.List[0].Strategy)
		equal(t, start.Add(time.Hour), got.List[0].Deadline)
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

func (f *fixture) claimPushes(t testing.TB, node string, limit int) delivery.Claims {
	t.Helper()
	got, err := f.ClaimPushes(t.Context(), gateway, node, lease, limit)
	noError(t, err)
	return got
}

// settle records that all attempts ended alike.
func (f *fixture) settle(t testing.TB, list []delivery.Claimed, kind delivery.SettleKind, after time.Duration) {
	t.Helper()
	noError(t, f.SettlePushes(t.Context(), settled(list, kind, after)))
}

func settled(list []delivery.Claimed, kind delivery.SettleKind, after time.Duration) []delivery.Settled {
	out := make([]delivery.Settled, len(list))
	for i, c := range list {
		out[i] = delivery.Settled{Seq: c.Seq, Token: c.Token, Kind: kind, After: after}
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
func (f *fixture) hasGateway(t testing.TB, want map[ledger.DeliveryState]int64) {
	t.Helper()
	counts, err := f.CountDeliveries(t.Context())
	noError(t, err)
	equal(t, want, counts[gateway])
}

// living makes a notice that begins to live for a day at the time.
func living(id string, at time.Time) *notice.Notice {
	n := newNotice(id)
	n.CreatedAt, n.ExpiresAt = at, at.Add(24*time.Hour)
	return n
}

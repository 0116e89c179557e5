package ledgertest

import (
	"slices"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

var pushCommitTests = []testCase{
	{"deliveries of one finding to one push channel go in order", func(t *testing.T, f *fixture) {
		f.register(t)
		more := ledger.Target{Sink: "sms", Strategy: important.Strategy}
		f.commit(t, 1, to([]ledger.Target{important, more}, ofKey("k", 0), ofKey("other", 0)))
		f.commit(t, 2, to([]ledger.Target{important}, ofKey("k", 1), ofKey("k", 2)))
		f.commit(t, 3, to([]ledger.Target{delayed(time.Second, "")}, ofKey("k", 3)))
		first := f.claimPushes(t, "a", 10)
		equal(t, []string{"k_a", "other_a"}, claimedIDs(first))
		equal(t, lease, first.Next)
		f.settle(t, first.List, delivery.SettleAgain, 2*time.Second) // over retries, too
		equal(t, 2*time.Second, f.claimPushes(t, "a", 10).Next)
		f.clock.Add(2 * time.Second)
		var got []string
		for {
			list := f.claimPushes(t, "a", 10).List
			if len(list) == 0 {
				break
			}
			got = append(got, claimedIDs(delivery.Claims{List: list})...)
			f.settle(t, list, []delivery.SettleKind{delivery.SettleSent, delivery.SettleFailed}[len(got)%2], 0)
		}
		equal(t, []string{"k_a", "other_a", "k_b", "k_c", "k_d"}, got)
		sms, err := f.ClaimPushes(t.Context(), "sms", "a", lease, 10)
		noError(t, err)
		equal(t, 2, len(sms.List))
	}},
	{"whatever ends a delivery lets the next of its finding go, at its time", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{within(time.Minute)}, ofKey("k", 0)))
		f.commit(t, 2, to([]ledger.Target{within(time.Hour)}, ofKey("k", 1)))
		f.commit(t, 3, to([]ledger.Target{delayed(2*time.Minute, "")}, ofKey("k", 2)))
		f.clock.Add(time.Minute)
		f.endPushes(t, 1, 0)
		claims := f.claimPushes(t, "a", 10)
		equal(t, []string{"k_b"}, claimedIDs(claims))
		f.settle(t, claims.List, delivery.SettleFailed, 0)
		claims = f.claimPushes(t, "a", 10)
		equal(t, 0, len(claims.List))
		equal(t, time.Minute, claims.Next)
		f.clock.Add(time.Minute)
		equal(t, []string{"k_c"}, claimedIDs(f.claimPushes(t, "a", 10)))
	}},
	{"what business systems send is in no order", func(t *testing.T, f *fixture) {
		f.register(t)
		sent := numbered("n_", 3)
		for _, n := range sent {
			n.Rule, n.Scope, n.Key, n.Status = "", "", "", notice.Sent
		}
		f.commit(t, 1, to([]ledger.Target{important}, sent...))
		equal(t, 3, len(f.claimPushes(t, "a", 10).List))
	}},
	{"mail goes to each subscriber that has an address, and none waits for another's", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.subscribe(
			t,
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: "role:keeper"},
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "role:keeper"},
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:2"},
		)
		each := ledger.Target{Sink: "mail", Each: true, Strategy: important.Strategy}
		equal(t, ledger.Committed{Unsubscribed: 1}, f.commit(t, 1, to([]ledger.Target{each}, ofKey("k", 0))))
		for _, s := range []delivery.Subscriber{
			{ID: "role:keeper", Mail: []string{"k@example.com"}},
			{ID: "user:1", Mail: []string{"a@example.com"}},
			{ID: "user:2"},
			{ID: "user:9", Mail: []string{"z@example.com"}},
		} {
			_, err := f.PutSubscriber(t.Context(), Ann, s)
			noError(t, err)
		}
		done := f.commit(t, 2, to([]ledger.Target{each, inbox}, ofKey("k", 1)))
		equal(t, ledger.Committed{Deliveries: 3, Lanes: []ledger.Lane{inboxLane, {Sink: "mail"}}}, done)
		f.commit(t, 3, to([]ledger.Target{each}, ofKey("k", 2)))
		named := each
		named.Recipients = []string{"user:9", "user:2", "user:404"}
		equal(t, 1, f.commit(t, 4, to([]ledger.Target{named}, ofKey("else", 0))).Deliveries)
		named.Recipients = []string{"user:2"}
		equal(t, ledger.Committed{Unsubscribed: 1}, f.commit(t, 5, to([]ledger.Target{named}, ofKey("else", 1))))

		claims := f.mails(t)
		equal(t, [][]string{{"role:keeper"}, {"user:1"}, {"user:9"}}, recipientsOf(claims))
		f.settle(t, claims[:1], delivery.SettleSent, 0)
		f.settle(t, claims[1:2], delivery.SettleAgain, time.Hour)
		claims = f.mails(t)
		equal(t, []string{"k_c"}, claimedIDs(delivery.Claims{List: claims}))
		equal(t, [][]string{{"role:keeper"}}, recipientsOf(claims))
		// The inbox has its recipients as before.
		equal(t, []string{"role:keeper", "user:1", "user:2"}, f.pending(t, inboxLane)[0].Recipients)
	}},
	{"a commit of the same notices again adds nothing", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, ofKey("k", 0)))
		f.commit(t, 2, to([]ledger.Target{important}, ofKey("k", 0), ofKey("k", 1)))
		f.settle(t, f.claimPushes(t, "a", 10).List, delivery.SettleSent, 0)
		equal(t, []string{"k_b"}, claimedIDs(f.claimPushes(t, "a", 10)))
	}},
	{"a commit that fails leaves push channels as they were", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{delayed(time.Hour, delivery.UnlessResolved)}, ofKey("k", 0)))
		c, err := f.Claim(t.Context(), rule, scope, due(2), "a", 0)
		noError(t, err)
		run := commitOf(c)
		run.Over, run.Notices = []string{"k_a"}, to([]ledger.Target{important}, ofKey("k", 1))
		run.Findings = []ledger.FindingChange{{Op: ledger.Delete, State: firing("nowhere")}}
		if _, err := f.Commit(t.Context(), c, run); err == nil {
			t.Fatal("the commit was accepted")
		}
		f.hasGateway(t, map[ledger.DeliveryState]int64{0: 1})
		equal(t, time.Hour, f.claimPushes(t, "a", 10).Next)
	}},
}

func (f *fixture) mails(t testing.TB) []delivery.Claimed {
	t.Helper()
	got, err := f.ClaimPushes(t.Context(), "mail", "a", lease, 10)
	noError(t, err)
	return got.List
}

func recipientsOf(list []delivery.Claimed) [][]string {
	var out [][]string
	for i := range list {
		out = append(out, list[i].Recipients)
	}
	return out
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

package ledgertest

import (
	"slices"
	"strconv"
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
		f.settle(t, first.List, delivery.SettleAgain, 2*time.Second) // the order also holds while a delivery is retried
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
	{"a delivery that ends, for any reason, releases the next one of its finding, at its time", func(t *testing.T, f *fixture) {
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
	{"mail goes to each subscriber with an address, and no one's delivery waits for another's", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.subscribe(
			t,
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: "role:keeper"},
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "role:keeper"},
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:2"},
		)
		each := ledger.Target{Sink: "mail", Each: true, Address: "mail", Strategy: important.Strategy}
		equal(t, ledger.CommitResult{Unsubscribed: 1}, f.commit(t, 1, to([]ledger.Target{each}, ofKey("k", 0))))
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
		equal(t, ledger.CommitResult{Deliveries: 3, Lanes: []ledger.Lane{inboxLane, {Sink: "mail"}}}, done)
		f.commit(t, 3, to([]ledger.Target{each}, ofKey("k", 2)))
		named := each
		named.Recipients = []string{"user:9", "user:2", "user:404"}
		equal(t, 1, f.commit(t, 4, to([]ledger.Target{named}, ofKey("else", 0))).Deliveries)
		named.Recipients = []string{"user:2"}
		equal(t, ledger.CommitResult{Unsubscribed: 1}, f.commit(t, 5, to([]ledger.Target{named}, ofKey("else", 1))))

		claims := f.mails(t)
		equal(t, [][]string{{"role:keeper"}, {"user:1"}, {"user:9"}}, recipientsOf(claims))
		f.settle(t, claims[:1], delivery.SettleSent, 0)
		f.settle(t, claims[1:2], delivery.SettleAgain, time.Hour)
		claims = f.mails(t)
		equal(t, []string{"k_c"}, claimedIDs(delivery.Claims{List: claims}))
		equal(t, [][]string{{"role:keeper"}}, recipientsOf(claims))
		// The inbox has the same recipients as before.
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
		c, err := f.Claim(t.Context(), rule, scope, 0, due(2), "a", 0)
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

func (f *pushChecks) mails(t testing.TB) []delivery.PushClaim {
	t.Helper()
	got, err := f.ClaimPushes(t.Context(), "mail", "a", lease, 10)
	noError(t, err)
	return got.List
}

func recipientsOf(list []delivery.PushClaim) [][]string {
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

var pushOverTests = []testCase{
	{"a resolution waits behind a firing notice that is being tried, and goes at once after one that was sent", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, ofKey("sent", 0), ofKey("tried", 0), ofKey("claimed", 0)))
		got := f.claimPushes(t, "a", 10).List
		f.settle(t, got[:1], delivery.SettleSent, 0)
		f.settle(t, got[1:2], delivery.SettleAgain, time.Second)
		done := f.resolve(t, 2, important, ofKey("sent", 0), ofKey("tried", 0), ofKey("claimed", 0))
		equal(t, ledger.CommitResult{Deliveries: 3, Lanes: []ledger.Lane{gatewayLane}}, done)
		equal(t, []string{"over sent_a"}, claimedIDs(f.claimPushes(t, "b", 10)))
		f.clock.Add(time.Second)
		again := f.claimPushes(t, "b", 10)
		equal(t, []string{"tried_a"}, claimedIDs(again))
		f.settle(t, append(again.List, got[2]), delivery.SettleSent, 0)
		equal(t, []string{"over tried_a", "over claimed_a"}, claimedIDs(f.claimPushes(t, "b", 10)))
	}},
	{"an untried delivery is canceled with its finding, and no resolution goes out", func(t *testing.T, f *fixture) {
		f.register(t)
		sms := ledger.Target{Sink: "sms", Strategy: important.Strategy}
		late := delayed(time.Hour, "")
		f.commit(t, 1, to([]ledger.Target{late, sms}, ofKey("k", 0)))
		f.commit(t, 2, to([]ledger.Target{late}, ofKey("k", 1), ofKey("other", 0)))
		done := f.resolve(t, 3, late, ofKey("k", 1))
		equal(t, ledger.CommitResult{}, done)
		f.hasAttempts(t, 1, ledger.DeliveryCanceled, 0, "the finding is over")
		f.hasAttempts(t, 3, ledger.DeliveryCanceled, 0, "the finding is over")
		f.hasGateway(t, map[ledger.DeliveryState]int64{0: 1, 4: 2})
		got, err := f.ClaimPushes(t.Context(), "sms", "a", lease, 10) // the channel got no resolution
		noError(t, err)
		equal(t, []string{"k_a"}, claimedIDs(got))
	}},
	{"recipients of an earlier notice of the episode get the resolution", func(t *testing.T, f *fixture) {
		f.register(t)
		late := delayed(time.Minute, "")
		before := ofEpisode("k", 0, start.Add(-time.Hour))
		f.commit(t, 1, to([]ledger.Target{important}, before, ofEpisode("new", 0, start.Add(-time.Hour))))
		f.settle(t, f.claimPushes(t, "a", 10).List, delivery.SettleSent, 0)
		f.commit(t, 2, to([]ledger.Target{important}, ofEpisode("k", 1, start)))
		f.clock.Add(time.Second)
		f.settle(t, f.claimPushes(t, "a", 10).List, delivery.SettleSent, 0)
		f.commit(t, 3, to([]ledger.Target{late}, ofEpisode("k", 2, start), ofEpisode("new", 2, start)))
		done := f.resolve(t, 4, important, ofEpisode("k", 2, start), ofEpisode("new", 2, start))
		equal(t, 1, done.Deliveries) // the channel knows "new" only from another episode
		equal(t, []string{"over k_c"}, claimedIDs(f.claimPushes(t, "a", 10)))
		f.hasGateway(t, map[ledger.DeliveryState]int64{0: 1, 1: 3, 4: 2})
	}},
	{"recipients to whom an earlier notice of the episode is on its way get the resolution after it", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, ofEpisode("k", 0, start)))
		got := f.claimPushes(t, "a", 10).List
		f.commit(t, 2, to([]ledger.Target{important}, ofEpisode("k", 1, start)))
		equal(t, 1, f.resolve(t, 3, important, ofEpisode("k", 1, start)).Deliveries)
		f.hasAttempts(t, got[0].Seq+1, ledger.DeliveryCanceled, 0, "the finding is over")
		equal(t, 0, len(f.claimPushes(t, "a", 10).List))
		f.settle(t, got, delivery.SettleSent, 0)
		equal(t, []string{"over k_b"}, claimedIDs(f.claimPushes(t, "a", 10)))
	}},
	{"a notice of another episode, made by a late run after this episode began, is not resolved again", func(t *testing.T, f *fixture) {
		f.register(t)
		before := ofEpisode("k", 3, start.Add(-time.Hour)) // created when the next episode was due already
		f.commit(t, 1, to([]ledger.Target{important}, before))
		f.settle(t, f.claimPushes(t, "a", 10).List, delivery.SettleSent, 0)
		f.commit(t, 2, to([]ledger.Target{delayed(time.Hour, "")}, ofEpisode("k", 4, start)))
		equal(t, ledger.CommitResult{}, f.resolve(t, 3, important, ofEpisode("k", 4, start)))
		f.hasGateway(t, map[ledger.DeliveryState]int64{1: 1, 4: 1})
	}},
	{"a delivery that a dead node had claimed counts as possibly received", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, ofKey("k", 0)))
		got := f.claimPushes(t, "a", 10).List
		f.clock.Add(lease)
		equal(t, 1, f.resolve(t, 2, important, ofKey("k", 0)).Deliveries)
		got = append(got, f.claimPushes(t, "b", 10).List...)
		equal(t, 2, len(got)) // the resolution waits for the claimed delivery
		f.settle(t, got[1:], delivery.SettleSent, 0)
		equal(t, []string{"over k_a"}, claimedIDs(f.claimPushes(t, "b", 10)))
	}},
	{"a delivery that failed, timed out or was canceled gets no resolution", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{within(time.Second)}, ofKey("failed", 0), ofKey("canceled", 0), ofKey("late", 0)))
		got := f.claimPushes(t, "a", 10).List
		f.settle(t, got[:1], delivery.SettleFailed, 0)
		_, err := f.CancelDeliveries(t.Context(), Ann, []int64{got[1].Seq}, "")
		noError(t, err)
		f.clock.Add(time.Second)
		f.endPushes(t, 1, 0)
		equal(t, ledger.CommitResult{}, f.resolve(t, 2, important, ofKey("failed", 0), ofKey("canceled", 0), ofKey("late", 0)))
	}},
	{"resolutions of mails go to whom the mails went", func(t *testing.T, f *fixture) {
		f.register(t)
		each := ledger.Target{Sink: "mail", Each: true, Address: "mail", Strategy: important.Strategy}
		for _, id := range []string{"user:1", "user:2", "user:3"} {
			_, err := f.PutSubscriber(t.Context(), Ann, delivery.Subscriber{ID: id, Mail: []string{"a@example.com"}})
			noError(t, err)
			each.Recipients = append(each.Recipients, id)
		}
		f.commit(t, 1, to([]ledger.Target{each}, ofKey("k", 0)))
		claims := f.mails(t)
		f.settle(t, claims[:1], delivery.SettleSent, 0)
		f.settle(t, claims[1:2], delivery.SettleFailed, 0)
		f.settle(t, claims[2:], delivery.SettleRelease, 0) // pending and never tried
		each.Recipients = nil
		equal(t, 1, f.resolve(t, 2, each, ofKey("k", 0)).Deliveries)
		equal(t, [][]string{{"user:1"}}, recipientsOf(f.mails(t)))
	}},
	{"a delivery with `unless: resolved` is canceled when its finding is over, claimed or not", func(t *testing.T, f *fixture) {
		f.register(t)
		sparing := delayed(time.Minute, delivery.UnlessResolved)
		f.commit(t, 1, to([]ledger.Target{sparing}, ofKey("k", 0), ofKey("other", 0)))
		f.commit(t, 2, to([]ledger.Target{sparing}, ofKey("k", 1)))
		f.commit(t, 3, to([]ledger.Target{delayed(time.Hour, delivery.UnlessRead)}, ofKey("k", 2)))
		f.clock.Add(time.Minute)
		claimed := f.claimPushes(t, "a", 1).List
		equal(t, ledger.CommitResult{}, f.over(t, 4, "k_b", "k_nowhere"))
		f.hasGateway(t, map[ledger.DeliveryState]int64{0: 2, 4: 2})
		f.settle(t, claimed, delivery.SettleAgain, 0)
		f.hasAttempts(t, claimed[0].Seq, ledger.DeliveryCanceled, 0, "the finding is over")
		equal(t, []string{"other_a"}, claimedIDs(f.claimPushes(t, "a", 10)))
		f.settle(t, claimed, delivery.SettleSent, 0) // the attempt was in time
		f.hasGateway(t, map[ledger.DeliveryState]int64{0: 2, 1: 1, 4: 1})
		f.clock.Add(time.Hour) // the other deliveries go on, at their time
		equal(t, []string{"other_a", "k_c"}, claimedIDs(f.claimPushes(t, "a", 10)))
	}},
	{"digests share a key, and only the one that is over is canceled", func(t *testing.T, f *fixture) {
		f.register(t)
		digest := func(n int) *notice.Notice {
			d := ofKey("digest", n)
			d.ID = notice.DigestID(rule, scope, d.Key, d.Episode+string(rune('0'+n)), notice.Firing)
			return d
		}
		one, two := digest(1), digest(2)
		f.commit(t, 1, to([]ledger.Target{delayed(time.Minute, delivery.UnlessResolved)}, one, two))
		f.over(t, 2, one.ID)
		f.clock.Add(time.Minute)
		equal(t, []string{two.ID}, claimedIDs(f.claimPushes(t, "a", 10)))
	}},
	{"the oldest pending delivery is found by sink", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		hasOldest := func(want map[string]time.Time) {
			t.Helper()
			oldest, err := f.OldestPending(t.Context())
			noError(t, err)
			for name := range oldest {
				oldest[name] = oldest[name].UTC()
			}
			equal(t, want, oldest)
		}
		hasOldest(map[string]time.Time{})
		first, second := ofKey("k", 1), ofKey("l", 2)
		first.CreatedAt, second.CreatedAt = f.clock.Now(), f.clock.Now().Add(time.Second)
		elsewhere := ofKey("m", 3)
		elsewhere.Warehouse, elsewhere.CreatedAt = "119241", f.clock.Now().Add(-time.Second)
		f.commit(t, 1, to([]ledger.Target{inbox, delayed(time.Hour, "")}, first))
		f.commit(t, 2, to([]ledger.Target{inbox, delayed(time.Minute, "")}, second))
		f.commit(t, 3, to([]ledger.Target{{Sink: "queue"}}, elsewhere))
		hasOldest(map[string]time.Time{
			inboxSink: first.CreatedAt.UTC(), gateway: second.CreatedAt.Add(time.Minute).UTC(), "queue": elsewhere.CreatedAt.UTC(),
		})
		f.send(t, f.pending(t, inboxLane)[:1], "", 0)
		hasOldest(map[string]time.Time{
			inboxSink: second.CreatedAt.UTC(), gateway: second.CreatedAt.Add(time.Minute).UTC(), "queue": elsewhere.CreatedAt.UTC(),
		})
	}},
	{"other rules' and other sinks' deliveries stay when a finding is over", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		other := ofKey("k", 1)
		other.Rule = "another-rule"
		f.commit(t, 1, to([]ledger.Target{delayed(time.Minute, delivery.UnlessResolved)}, other))
		f.commit(t, 2, to([]ledger.Target{inbox, {Sink: "queue"}}, ofKey("k", 0)))
		f.over(t, 3, "k_a", "k_b")
		counts, err := f.CountDeliveries(t.Context())
		noError(t, err)
		pending := map[ledger.DeliveryState]int64{0: 1}
		equal(t, map[string]map[ledger.DeliveryState]int64{inboxSink: pending, "queue": pending, gateway: pending}, counts)
	}},
}

// ofEpisode makes the n-th notice of a finding, in the episode that began at that time.
func ofEpisode(key string, n int, began time.Time) *notice.Notice {
	out := ofKey(key, n)
	out.Episode = strconv.FormatInt(began.UnixMicro(), 10)
	out.CreatedAt = began.Add(time.Duration(n) * time.Second)
	return out
}

// resolve commits resolutions of the firing notices.
func (f *pushChecks) resolve(t testing.TB, n int, back ledger.Target, firing ...*notice.Notice) ledger.CommitResult {
	t.Helper()
	var notices []ledger.NewNotice
	for _, one := range firing {
		over := *one
		over.ID, over.Status, over.CreatedAt = "over "+one.ID, notice.Resolved, f.clock.Now()
		notices = append(notices, ledger.NewNotice{Notice: &over, Sinks: []ledger.Target{back}, After: one.ID})
	}
	return f.commit(t, n, notices)
}

// over commits a run in which the findings of the notices are over.
func (f *pushChecks) over(t testing.TB, n int, ids ...string) ledger.CommitResult {
	t.Helper()
	c := f.claim(t, n)
	run := commitOf(c)
	run.Over = ids
	done, err := f.Commit(t.Context(), c, run)
	noError(t, err)
	return done
}

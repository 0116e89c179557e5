package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

var markTests = []testCase{
	{"marks are kept with the time of the first", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1"), newNotice("n_2")))
		read := markOf("n_1", "user:1", ledger.MarkRead)
		noError(t, f.Mark(t.Context(), read))
		later := read
		later.At = read.At.Add(time.Minute)
		noError(t, f.Mark(t.Context(), later))
		f.send(t, f.pending(t, inboxLane), "", 1)
		acked := markOf("n_1", "user:2", ledger.MarkAcked)
		acked.At, acked.As = start, []string{"role:keeper", "user:1", "user:2"}
		noError(t, f.other(t).Mark(t.Context(), acked))
		both := markOf("n_1", "user:1", ledger.MarkAcked)
		both.At = start.Add(time.Hour)
		noError(t, f.Mark(t.Context(), both))
		f.hasMarks(t, "n_1", acked, read, both)
		f.hasMarks(t, "n_2")
	}},
	{"who has not the notice cannot mark it", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		elsewhere := newNotice("n_2")
		elsewhere.Warehouse = "119241"
		mail := ledger.Target{Sink: "mail", Each: true, Address: "mail", Strategy: &delivery.Strategy{Kind: delivery.Important}}
		f.enters(t, delivery.Subscriber{ID: "user:1", Mail: []string{"ann@example.com"}}, true)
		f.commit(t, 1, append(to([]ledger.Target{inbox}, newNotice("n_1"), elsewhere), to([]ledger.Target{mail}, newNotice("n_mail"))...))
		canceled := f.pending(t, ledger.Lane{Sink: inboxSink, Warehouse: "119241"})
		_, err := f.CancelDeliveries(t.Context(), Ann, seqs(canceled), "enough")
		noError(t, err)
		for _, m := range []ledger.Mark{
			markOf("n_none", "user:1", ledger.MarkRead),
			markOf("n_1", "user:10", ledger.MarkRead),
			markOf("n_1", "user:", ledger.MarkRead),
			{Notice: "n_1", Warehouse: "119241", User: "user:1", As: []string{"user:1"}, Kind: ledger.MarkAcked, At: start},
			{Notice: "n_1", Warehouse: "", User: "user:1", As: []string{"user:1"}, Kind: ledger.MarkAcked, At: start},
			{Notice: "n_1", Warehouse: warehouse, User: "user:1", Kind: ledger.MarkAcked, At: start},
			markOf("n_mail", "user:1", ledger.MarkRead),
			{Notice: "n_mail", Warehouse: "", User: "user:1", As: []string{"user:1"}, Kind: ledger.MarkRead, At: start},
			{Notice: "n_2", Warehouse: "119241", User: "user:1", As: []string{"user:1"}, Kind: ledger.MarkRead, At: start},
		} {
			isError(t, ledger.ErrNotFound, f.Mark(t.Context(), m))
			f.hasMarks(t, m.Notice)
		}
	}},
	{"a mark cancels only the deliveries that it makes needless", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		var targets []ledger.Target
		for name, unless := range map[string]delivery.Unless{
			"read": delivery.UnlessRead, "acked": delivery.UnlessAcked, "resolved": delivery.UnlessResolved, "never": "",
		} {
			targets = append(targets, ledger.Target{Sink: name, Strategy: &delivery.Strategy{Kind: delivery.Delayed, Delay: time.Minute, Unless: unless}})
		}
		targets = append(targets, inbox)
		f.commit(t, 1, to(targets, newNotice("n_1"), newNotice("n_2"), newNotice("n_3")))
		noError(t, f.Mark(t.Context(), markOf("n_1", "user:1", ledger.MarkRead)))
		noError(t, f.Mark(t.Context(), markOf("n_2", "user:1", ledger.MarkAcked)))
		f.clock.Add(time.Minute)
		for name, want := range map[string][]string{
			"read": {"n_3"}, "acked": {"n_1", "n_3"}, "resolved": {"n_1", "n_2", "n_3"}, "never": {"n_1", "n_2", "n_3"},
		} {
			equal(t, want, claimedIDs(f.claimAll(t, name)))
		}
		equal(t, 3, len(f.pending(t, inboxLane)))
		f.canceledBecause(t, "read", map[string]string{"n_1": "read by user:1", "n_2": "acked by user:1"})
		f.canceledBecause(t, "acked", map[string]string{"n_2": "acked by user:1"})
	}},
	{"a read counts for the user alone, and an ack counts for all", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "role:keeper"}, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:2"})
		each := func(u delivery.Unless) ledger.Target {
			return ledger.Target{Sink: "each" + string(u), Each: true, Strategy: &delivery.Strategy{Kind: delivery.Delayed, Delay: time.Minute, Unless: u}}
		}
		f.commit(t, 1, to([]ledger.Target{each(delivery.UnlessRead), each(delivery.UnlessAcked), inbox}, newNotice("n_1"), newNotice("n_2"), newNotice("n_3")))
		f.send(t, f.pending(t, inboxLane), "", 1) // scores 1 to 3
		noError(t, f.Mark(t.Context(), markOf("n_1", "user:2", ledger.MarkRead)))
		asKeeper := markOf("n_2", "user:1", ledger.MarkAcked)
		asKeeper.As = append(asKeeper.As, "role:keeper")
		noError(t, f.Mark(t.Context(), asKeeper))
		n, err := f.ReadAll(t.Context(), readAll("user:2", 3, 1, "role:keeper"))
		noError(t, err)
		equal(t, 4, n) // n_1 to the role, n_2 to user:2, n_3 to the role and to user:2
		f.commit(t, 2, to([]ledger.Target{each(delivery.UnlessRead), inbox}, newNotice("n_4")))
		f.reads(t, readAll("user:1", 9, 1, "user:1"))
		f.send(t, f.pending(t, inboxLane), "", 4) // the user read the notice before the ledger knew its score
		f.clock.Add(time.Minute)
		hasOpen := func(sink string, want ...string) {
			t.Helper()
			var got []string
			for _, c := range f.claimAll(t, sink).List {
				got = append(got, c.Notice.ID+" "+c.Recipients[0])
			}
			slices.Sort(got)
			equal(t, want, got)
		}
		hasOpen("eachread", "n_4 role:keeper", "n_4 user:2")
		hasOpen("eachacked", "n_1 role:keeper", "n_1 user:1", "n_1 user:2", "n_3 role:keeper", "n_3 user:1", "n_3 user:2")
	}},
	{"a delivery that a mark cancels releases the next one of the finding", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		unless := []ledger.Target{inbox, {Sink: "sms", Strategy: &delivery.Strategy{Kind: delivery.Delayed, Delay: time.Hour, Unless: delivery.UnlessRead}}}
		atOnce := []ledger.Target{{Sink: "sms", Strategy: &delivery.Strategy{Kind: delivery.Important}}}
		one, two := newNotice("n_1"), newNotice("n_2")
		two.Key = one.Key
		f.commit(t, 1, append(to(unless, one), to(atOnce, two)...))
		equal(t, 0, len(f.claimAll(t, "sms").List))
		noError(t, f.Mark(t.Context(), markOf("n_1", "user:1", ledger.MarkRead)))
		equal(t, []string{"n_2"}, claimedIDs(f.claimAll(t, "sms")))
	}},
	{"a delivery that is being tried is canceled too, and is recorded as sent if the attempt succeeds", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		targets := []ledger.Target{inbox, {Sink: "sms", Strategy: &delivery.Strategy{Kind: delivery.Delayed, Unless: delivery.UnlessAcked, Retry: 5}}}
		f.commit(t, 1, to(targets, newNotice("n_1"), newNotice("n_2")))
		claims := f.claimAll(t, "sms").List
		for _, id := range []string{"n_1", "n_2"} {
			noError(t, f.Mark(t.Context(), markOf(id, "user:1", ledger.MarkAcked)))
		}
		noError(t, f.SettlePushes(t.Context(), []delivery.Settlement{
			{Seq: claims[0].Seq, Token: claims[0].Token, Kind: delivery.SettleSent},
			{Seq: claims[1].Seq, Token: claims[1].Token, Kind: delivery.SettleAgain, After: time.Second, Attempt: delivery.Attempt{Error: "no answer"}},
		}))
		f.clock.Add(time.Hour)
		equal(t, 0, len(f.claimAll(t, "sms").List))
		f.hasState(t, claims[0].Seq, ledger.DeliverySent)
		f.hasState(t, claims[1].Seq, ledger.DeliveryCanceled)
	}},
	{"a mark and a commit of the finding's next notice at once forget no delivery", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		other := f.other(t)
		for n := 1; n <= 20; n++ {
			first, second := ofKey(fmt.Sprint(n), 1), ofKey(fmt.Sprint(n), 2)
			f.commit(t, 2*n, to([]ledger.Target{inbox, delayed(time.Hour, delivery.UnlessRead)}, first))
			c := f.claim(t, 2*n+1)
			run := commitOf(c)
			run.Notices = to([]ledger.Target{by(delivery.Strategy{Kind: delivery.Important})}, second)
			var both sync.WaitGroup
			both.Go(func() {
				if err := other.Mark(t.Context(), markOf(first.ID, "user:1", ledger.MarkRead)); err != nil {
					t.Error(err)
				}
			})
			both.Go(func() {
				if _, err := f.Commit(t.Context(), c, run); err != nil {
					t.Error(err)
				}
			})
			both.Wait()
			claims := f.claimAll(t, gateway)
			equal(t, []string{second.ID}, claimedIDs(claims))
			f.settle(t, claims.List, delivery.SettleSent, 0)
		}
	}},
	{"marks go with their notice", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")))
		noError(t, f.Mark(t.Context(), markOf("n_1", "user:1", ledger.MarkRead)))
		f.send(t, f.pending(t, inboxLane), "", 1)
		f.clock.Add(48 * time.Hour)
		_, err := f.Prune(t.Context(), f.clock.Now().Add(-time.Hour), 1)
		noError(t, err)
		f.hasMarks(t, "n_1")
	}},
}

// markOf makes a mark of a user without roles.
func markOf(id, user string, kind ledger.MarkKind) ledger.Mark {
	return ledger.Mark{Notice: id, Warehouse: warehouse, User: user, As: []string{user}, Kind: kind, At: start.Add(time.Second)}
}

// hasMarks checks the marks of a notice, in the order of time.
func (f *base) hasMarks(t testing.TB, id string, want ...ledger.Mark) {
	t.Helper()
	got, err := f.MarksOf(t.Context(), id)
	noError(t, err)
	for i := range want {
		want[i].As = nil
	}
	equal(t, want, got)
}

// claimAll claims everything that is due at a push channel.
func (f *base) claimAll(t testing.TB, sink string) delivery.Claims {
	t.Helper()
	claims, err := f.ClaimPushes(t.Context(), sink, "a", lease, 1000)
	noError(t, err)
	return claims
}

// canceledBecause checks the canceled deliveries of a sink, and their reasons by notice id.
func (f *base) canceledBecause(t testing.TB, sink string, want map[string]string) {
	t.Helper()
	list, err := f.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: sink, States: []ledger.DeliveryState{ledger.DeliveryCanceled}, Limit: 100})
	noError(t, err)
	got := map[string]string{}
	for i := range list {
		got[list[i].Notice] = list[i].LastError
	}
	equal(t, want, got)
}

func (f *base) hasState(t testing.TB, seq int64, want ledger.DeliveryState) {
	t.Helper()
	got, err := f.Delivery(t.Context(), seq)
	noError(t, err)
	equal(t, want, got.State)
}

var readAllTests = []testCase{
	{"watermarks only rise, and are paged in the order of their time", func(t *testing.T, f *fixture) {
		f.reads(t, readAll("user:1", 50, 1, "role:keeper", "user:1"))
		f.reads(t, readAll("user:2", 70, 2, "user:2"))
		f.reads(t, readAll("user:1", 60, 3, "role:keeper"))
		f.reads(t, readAll("user:1", 10, 4, "role:keeper", "user:1"))
		want := []delivery.Watermark{
			{Warehouse: warehouse, User: "user:1", Inbox: "user:1", Score: 50, At: start.Add(time.Minute)},
			{Warehouse: warehouse, User: "user:2", Inbox: "user:2", Score: 70, At: start.Add(2 * time.Minute)},
			{Warehouse: warehouse, User: "user:1", Inbox: "role:keeper", Score: 60, At: start.Add(3 * time.Minute)},
		}
		var got []delivery.Watermark
		for after := (delivery.Watermark{}); ; {
			list, err := f.Watermarks(t.Context(), after, 1)
			noError(t, err)
			if len(list) == 0 {
				break
			}
			after = list[0]
			got = append(got, list...)
		}
		equal(t, want, got)
		since, err := f.Watermarks(t.Context(), delivery.Watermark{At: start.Add(2 * time.Minute)}, 10)
		noError(t, err)
		equal(t, want[1:], since)
	}},
	{"a read-all cancels the deliveries that it makes needless, in batches", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		until := func(u delivery.Unless) ledger.Target {
			return ledger.Target{Sink: "sms" + string(u), Strategy: &delivery.Strategy{Kind: delivery.Delayed, Delay: time.Minute, Unless: u}}
		}
		targets := []ledger.Target{until(delivery.UnlessRead), until(delivery.UnlessAcked), inbox}
		var list []ledger.NewNotice
		for i := range 600 {
			list = append(list, to(targets, newNotice(fmt.Sprintf("n_%03d", i)))...)
		}
		f.commit(t, 1, list)
		f.send(t, f.pending(t, inboxLane), "", 1) // scores 1 to 600; n_late has no score
		f.commit(t, 2, to(targets, newNotice("n_late")))
		n, err := f.ReadAll(t.Context(), readAll("user:9", 1000, 1, "role:other"))
		noError(t, err)
		equal(t, 0, n)
		elsewhere := readAll("user:1", 1000, 1, "user:1")
		elsewhere.Warehouse = "119241"
		n, err = f.ReadAll(t.Context(), elsewhere)
		noError(t, err)
		equal(t, 0, n)
		n, err = f.ReadAll(t.Context(), readAll("user:1", 590, 1, "role:keeper", "user:1"))
		noError(t, err)
		equal(t, 590, n)
		n, err = f.ReadAll(t.Context(), readAll("user:1", 590, 2, "role:keeper", "user:1"))
		noError(t, err)
		equal(t, 0, n)
		f.clock.Add(time.Minute)
		equal(t, 11, len(f.claimAll(t, "smsread").List))
		equal(t, 601, len(f.claimAll(t, "smsacked").List))
	}},
	{"who has read a notice among all is known", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "role:keeper"})
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1"), newNotice("n_2")))
		f.send(t, f.pending(t, inboxLane), "", 1)
		acked := markOf("n_1", "user:1", ledger.MarkAcked)
		noError(t, f.Mark(t.Context(), acked))
		f.reads(t, readAll("user:1", 1, 1, "role:keeper", "user:1"))
		f.reads(t, readAll("user:2", 1, 2, "role:keeper", "user:2"))
		f.reads(t, readAll("user:3", 2, 3, "role:other"))
		elsewhere := readAll("user:4", 2, 4, "role:keeper")
		elsewhere.Warehouse = "119241"
		f.reads(t, elsewhere)
		among := markOf("n_1", "user:2", ledger.MarkRead)
		among.At = start.Add(2 * time.Minute)
		f.hasMarks(t, "n_1", acked, among)
		f.hasMarks(t, "n_2")
	}},
	{"a read-all cancels also what it comes before", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "role:keeper"})
		until := ledger.Target{Sink: "sms", Strategy: &delivery.Strategy{Kind: delivery.Delayed, Delay: time.Minute, Unless: delivery.UnlessRead}}
		f.commit(t, 1, to([]ledger.Target{until, inbox}, newNotice("n_1"), newNotice("n_2"), newNotice("n_3")))
		// The notices are in the inboxes, where their users see them. The ledger does not know that yet.
		score := f.clock.Now().UnixMicro()
		for user, upTo := range map[string]int64{"user:1": score + 1, "user:2": score, "user:9": score + 2} {
			r := readAll(user, upTo, 0, "role:keeper")
			if user == "user:9" {
				r.Inboxes = []string{"role:other", user}
			}
			n, err := f.other(t).ReadAll(t.Context(), r)
			noError(t, err)
			equal(t, 0, n)
		}
		lie := f.pending(t, inboxLane)
		for range 2 { // a repeated call changes nothing
			f.send(t, lie, "", score)
		}
		f.canceledBecause(t, "sms", map[string]string{"n_1": "read by user:1", "n_2": "read by user:1"})
		f.clock.Add(time.Minute)
		equal(t, []string{"n_3"}, claimedIDs(f.claimAll(t, "sms")))
	}},
	{"marks are paged for those who write them back", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		short := newNotice("n_short")
		short.ExpiresAt = short.CreatedAt.Add(time.Hour)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1"), newNotice("n_2"), short))
		var want []delivery.Mark
		for i, id := range []string{"n_short", "n_2", "n_1"} {
			m := markOf(id, "user:1", ledger.MarkRead)
			m.At = start.Add(time.Duration(i) * time.Minute)
			noError(t, f.Mark(t.Context(), m))
			expires := newNotice(id).ExpiresAt
			if id == short.ID {
				expires = short.ExpiresAt
			}
			want = append(want, delivery.Mark{Notice: id, Warehouse: warehouse, User: "user:1", At: m.At, Expires: expires})
		}
		acked := markOf("n_1", "user:1", ledger.MarkAcked)
		acked.At = want[2].At
		noError(t, f.Mark(t.Context(), acked))
		both := want[2]
		both.Acked = true
		byTime := append(want[:2:2], both, want[2]) // acked comes before read
		equal(t, byTime, f.markPages(t, f.RecentMarks, delivery.Mark{}))
		equal(t, byTime[1:], f.markPages(t, f.RecentMarks, delivery.Mark{At: want[1].At}))
		f.clock.Add(2 * time.Hour)
		equal(t, []delivery.Mark{both, want[2], want[1]}, f.markPages(t, f.LiveMarks, delivery.Mark{}))
	}},
	{"watermarks go when nothing is left below them", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")))
		f.send(t, f.pending(t, inboxLane), "", 5)
		f.reads(t, readAll("user:1", 5, 0, "user:1"))
		f.reads(t, readAll("user:1", 4, 0, "role:keeper"))
		prune := func(want int) {
			t.Helper()
			_, err := f.Prune(t.Context(), f.clock.Now().Add(-time.Minute), 1)
			noError(t, err)
			left, err := f.Watermarks(t.Context(), delivery.Watermark{}, 10)
			noError(t, err)
			equal(t, want, len(left))
		}
		prune(2)
		f.clock.Add(time.Hour)
		prune(1)
		f.clock.Add(48 * time.Hour)
		prune(0)
	}},
}

// readAll makes a read-all of a user, at the given minutes after the start.
func readAll(user string, upTo int64, minutes int, inboxes ...string) ledger.ReadAll {
	return ledger.ReadAll{Warehouse: warehouse, User: user, Inboxes: inboxes, UpTo: upTo, At: start.Add(time.Duration(minutes) * time.Minute)}
}

func (f *base) reads(t testing.TB, r ledger.ReadAll) {
	t.Helper()
	_, err := f.ReadAll(t.Context(), r)
	noError(t, err)
}

// markPages reads all pages, one mark each.
func (f *base) markPages(t testing.TB, page func(context.Context, delivery.Mark, int) ([]delivery.Mark, error), after delivery.Mark) []delivery.Mark {
	t.Helper()
	var got []delivery.Mark
	for {
		list, err := page(t.Context(), after, 1)
		noError(t, err)
		if len(list) == 0 {
			return got
		}
		after = list[0]
		got = append(got, list...)
	}
}

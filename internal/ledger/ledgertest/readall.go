package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

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
	{"a read-all cancels what it makes needless, in batches", func(t *testing.T, f *fixture) {
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
		f.send(t, f.pending(t, inboxLane), "", 1) // scores 1 to 600, and one on its way
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
		// They lie in the inboxes, where their users see them, and the ledger does not know yet.
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
		for range 2 { // whoever repeats it changes nothing
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

// readAll is one of a user so many minutes after the start.
func readAll(user string, upTo int64, minutes int, inboxes ...string) ledger.ReadAll {
	return ledger.ReadAll{Warehouse: warehouse, User: user, Inboxes: inboxes, UpTo: upTo, At: start.Add(time.Duration(minutes) * time.Minute)}
}

func (f *fixture) reads(t testing.TB, r ledger.ReadAll) {
	t.Helper()
	_, err := f.ReadAll(t.Context(), r)
	noError(t, err)
}

// markPages reads all pages of one mark.
func (f *fixture) markPages(t testing.TB, page func(context.Context, delivery.Mark, int) ([]delivery.Mark, error), after delivery.Mark) []delivery.Mark {
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

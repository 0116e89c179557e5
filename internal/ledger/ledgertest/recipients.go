package ledgertest

import (
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
)

var recipientTests = []testCase{
	{"recipients are those subscribed to the type in the warehouse or in all", func(t *testing.T, f *fixture) {
		f.register(t)
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		noError(t, f.PutType(t.Context(), Ann, catalog.Type{Code: "OTHER", ID: 2}))
		f.subscribe(
			t,
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: "user:2"},
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:2"},
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:10"},
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: "role:keeper"},
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: "119241", Subscriber: "user:3"},
			ledger.Subscription{Type: "OTHER", Warehouse: "*", Subscriber: "user:4"},
		)
		elsewhere, other := newNotice("n_2"), newNotice("n_3")
		elsewhere.Warehouse, other.Type = "119241", "OTHER"
		done := f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1"), elsewhere, other))
		lane2 := ledger.Lane{Sink: inboxSink, Warehouse: "119241"}
		equal(t, ledger.Committed{Deliveries: 3, Lanes: []ledger.Lane{inboxLane, lane2}}, done)
		list := f.pending(t, inboxLane)
		equal(t, []string{"n_1", "n_3"}, ids(list))
		equal(t, []string{"role:keeper", "user:10", "user:2"}, list[0].Recipients)
		equal(t, []string{"user:4"}, list[1].Recipients)
		equal(t, []string{"user:10", "user:2", "user:3"}, f.pending(t, lane2)[0].Recipients)
	}},
	{"without recipients there is no inbox delivery, but the notice is kept", func(t *testing.T, f *fixture) {
		f.register(t)
		targets := []ledger.Target{inbox, {Sink: "gateway"}}
		done := f.commit(t, 1, to(targets, newNotice("n_1"), newNotice("n_2")))
		gateway := ledger.Lane{Sink: "gateway"}
		equal(t, ledger.Committed{Deliveries: 2, Unsubscribed: 2, Lanes: []ledger.Lane{gateway}}, done)
		list := f.pending(t, gateway)
		equal(t, []string{"n_1", "n_2"}, ids(list))
		equal(t, 0, len(list[0].Recipients))
		equal(t, 0, len(f.pending(t, inboxLane)))
		found, err := f.Notices(t.Context(), []string{"n_1", "n_2"})
		noError(t, err)
		equal(t, 2, len(found))
		runs, err := f.Runs(t.Context(), rule, nil, 1)
		noError(t, err)
		equal(t, 2, runs[0].Unsubscribed)
	}},
	{"what takes a notice back goes where that one went", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		queue := ledger.Target{Sink: "queue"}
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")))
		f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:late"})
		pending := f.pending(t, inboxLane)
		noError(t, f.MarkSent(t.Context(), []delivery.Receipt{{Seq: pending[0].Seq, Score: 7}}))

		back, alone := to([]ledger.Target{inbox, queue}, newNotice("n_2"))[0], to([]ledger.Target{inbox}, newNotice("n_3"))[0]
		back.After, alone.After = "n_1", "n_0"
		done := f.commit(t, 2, []ledger.NewNotice{back, alone})
		equal(t, ledger.Committed{Deliveries: 1, Unsubscribed: 1, Lanes: []ledger.Lane{inboxLane}}, done)
		list := f.pending(t, inboxLane)
		equal(t, []string{"n_2"}, ids(list))
		equal(t, pending[0].Recipients, list[0].Recipients)

		noError(t, f.MarkFailed(t.Context(), []int64{list[0].Seq}, "no"))
		again := to([]ledger.Target{inbox}, newNotice("n_4"))[0]
		again.After = "n_2"
		equal(t, ledger.Committed{Unsubscribed: 1}, f.commit(t, 3, []ledger.NewNotice{again}))
	}},
	{"subscriptions count from the next commit on, on every node", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")))
		b := f.other(t)
		added, err := b.AddSubscriptions(t.Context(), Ann, []ledger.Subscription{
			{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: "role:keeper"},
		})
		noError(t, err)
		equal(t, 1, added)
		f.commit(t, 2, to([]ledger.Target{inbox}, newNotice("n_1"), newNotice("n_2")))
		noError(t, b.RemoveSubscription(t.Context(), Ann, ledger.Subscription{
			Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1",
		}))
		f.commit(t, 3, to([]ledger.Target{inbox}, newNotice("n_3")))
		var got [][]string
		for _, d := range f.pending(t, inboxLane) {
			got = append(got, d.Recipients)
		}
		equal(t, [][]string{{"user:1"}, {"role:keeper", "user:1"}, {"role:keeper"}}, got)
	}},
}

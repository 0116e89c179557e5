package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
)

var laneTests = []testCase{
	{"pending deliveries come in order, up to the limit", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox, {Sink: "gateway"}}, numbered("n_a", 3)...))
		f.commit(t, 2, to([]ledger.Target{inbox}, numbered("n_b", 2)...))
		list, err := f.Pending(t.Context(), inboxLane, 4)
		noError(t, err)
		equal(t, []string{"n_a00000", "n_a00001", "n_a00002", "n_b00000"}, ids(list))
		for i := 1; i < len(list); i++ {
			if list[i].Seq <= list[i-1].Seq {
				t.Fatalf("numbers do not ascend: %v", seqs(list))
			}
		}
		list, err = f.Pending(t.Context(), ledger.Lane{Sink: "nobody"}, 4)
		noError(t, err)
		equal(t, 0, len(list))
	}},
	{"what is sent or failed is pending no more", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, numbered("n_", 4)...))
		list := f.pending(t, inboxLane)
		f.send(t, list[:1], "", 100)
		noError(t, f.MarkFailed(t.Context(), seqs(list[1:2]), delivery.Attempt{Error: "400 bad"}))
		noError(t, f.MarkAttempt(t.Context(), seqs(list[2:3]), delivery.Attempt{Error: "no route"}))
		equal(t, []string{"n_00002", "n_00003"}, ids(f.pending(t, inboxLane)))
		f.hasCounts(t, map[ledger.DeliveryState]int64{0: 2, 1: 1, 2: 1})
		noError(t, f.MarkFailed(t.Context(), seqs(list[:1]), delivery.Attempt{Error: "late"}))
		f.send(t, list[1:2], "", 200)
		f.send(t, list[:1], "", 300)
		f.hasCounts(t, map[ledger.DeliveryState]int64{0: 2, 1: 1, 2: 1})
		noError(t, f.MarkSent(t.Context(), "", nil, delivery.Attempt{}))
		noError(t, f.MarkAttempt(t.Context(), nil, delivery.Attempt{Error: ""}))
	}},
	{"deliveries of expired notices are canceled", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		notices := numbered("n_", 9)
		for i, n := range notices {
			if i%3 != 2 {
				n.ExpiresAt = start.Add(time.Hour)
			}
		}
		f.commit(t, 1, to([]ledger.Target{inbox}, notices...))
		f.clock.Add(time.Hour - time.Microsecond)
		equal(t, 9, len(f.pending(t, inboxLane)))
		f.clock.Add(time.Microsecond)
		list, err := f.Pending(t.Context(), inboxLane, 2)
		noError(t, err)
		equal(t, []string{"n_00002", "n_00005"}, ids(list))
		equal(t, []string{"n_00002", "n_00005", "n_00008"}, ids(f.pending(t, inboxLane)))
		f.hasCounts(t, map[ledger.DeliveryState]int64{0: 3, 4: 6})
	}},
	{"a lane is drained by one node at a time", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		b := f.other(t)
		f.commit(t, 1, to([]ledger.Target{inbox, {Sink: "gateway"}}, newNotice("n_1")))
		f.hasLanes(t, b, inboxLane)
		f.acquires(t, f, "a", true)
		f.acquires(t, b, "b", false)
		f.hasLanes(t, b)
		f.clock.Add(lease / 2)
		f.acquires(t, f, "a", true) // renewed by the holder
		f.clock.Add(lease - time.Microsecond)
		f.acquires(t, b, "b", false)
		noError(t, b.ReleaseLane(t.Context(), inboxLane, "b")) // b does not hold the lane
		f.acquires(t, b, "b", false)
		f.clock.Add(time.Microsecond)
		f.hasLanes(t, b, inboxLane)
		f.acquires(t, b, "b", true)
		noError(t, f.ReleaseLane(t.Context(), inboxLane, "a")) // a does not hold the lane any more
		f.acquires(t, f, "a", false)
		noError(t, b.ReleaseLane(t.Context(), inboxLane, "b"))
		f.acquires(t, f, "a", true)
		noError(t, f.ReleaseLane(t.Context(), inboxLane, "a"))
		f.send(t, f.pending(t, inboxLane), "", 1)
		f.hasLanes(t, b)
		f.acquires(t, b, "b", true) // a lane without deliveries can be taken
		noError(t, f.ReleaseLane(t.Context(), ledger.Lane{Sink: "nobody"}, "a"))
	}},
}

var countTests = []testCase{
	{"deliveries are counted by sink and state", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		counts, err := f.CountDeliveries(t.Context())
		noError(t, err)
		equal(t, 0, len(counts))
		elsewhere := newNotice("n_x")
		elsewhere.Warehouse = "119241"
		f.commit(t, 1, to([]ledger.Target{inbox, {Sink: "gateway"}}, newNotice("n_1"), elsewhere))
		f.send(t, f.pending(t, ledger.Lane{Sink: "gateway"})[:1], "", 0)
		counts, err = f.CountDeliveries(t.Context())
		noError(t, err)
		equal(t, map[string]map[ledger.DeliveryState]int64{"inbox": {0: 2}, "gateway": {0: 1, 1: 1}}, counts)
		pending, err := f.CountPending(t.Context())
		noError(t, err)
		equal(t, map[string]int64{"inbox": 2, "gateway": 1}, pending)
	}},
	{"the first failed delivery of each sink is known", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{{Sink: "gateway"}, {Sink: "sms"}}, numbered("n_", 3)...))
		gateway, made := f.pending(t, ledger.Lane{Sink: "gateway"}), delivery.Attempt{Error: "refused"}
		has := func(want map[string]time.Time) {
			t.Helper()
			oldest, err := f.OldestFailed(t.Context())
			noError(t, err)
			equal(t, want, oldest)
		}
		has(map[string]time.Time{})
		first := f.clock.Now()
		noError(t, f.MarkFailed(t.Context(), []int64{gateway[1].Seq}, made))
		f.clock.Add(time.Minute)
		noError(t, f.MarkFailed(t.Context(), []int64{gateway[0].Seq, f.pending(t, ledger.Lane{Sink: "sms"})[0].Seq}, made))
		has(map[string]time.Time{"gateway": first, "sms": f.clock.Now()})
		_, _, err := f.RetryDeliveries(t.Context(), Ann, []int64{gateway[1].Seq})
		noError(t, err)
		has(map[string]time.Time{"gateway": f.clock.Now(), "sms": f.clock.Now()})
	}},
	{"a sink with many deliveries is not counted to the end", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{{Sink: "gateway"}}, numbered("n_", ledger.MostCounted+1)...))
		f.commit(t, 2, to([]ledger.Target{{Sink: "sms"}}, newNotice("n_x")))
		counts, err := f.CountDeliveries(t.Context())
		noError(t, err)
		equal(t, map[string]map[ledger.DeliveryState]int64{"gateway": {0: ledger.MostCounted}, "sms": {0: 1}}, counts)
		pending, err := f.CountPending(t.Context())
		noError(t, err)
		equal(t, map[string]int64{"gateway": ledger.MostCounted + 1, "sms": 1}, pending)
	}},
}

func (f *pushChecks) acquires(t testing.TB, l ledger.Ledger, node string, want bool) {
	t.Helper()
	got, err := l.AcquireLane(t.Context(), inboxLane, node, lease)
	noError(t, err)
	equal(t, want, got)
}

func (f *pushChecks) hasLanes(t testing.TB, l ledger.Ledger, want ...ledger.Lane) {
	t.Helper()
	got, err := l.PendingLanes(t.Context(), inboxSink)
	noError(t, err)
	if len(got)+len(want) > 0 {
		equal(t, want, got)
	}
}

// hasCounts compares the numbers of deliveries of the inbox.
func (f *pushChecks) hasCounts(t testing.TB, want map[ledger.DeliveryState]int64) {
	t.Helper()
	counts, err := f.CountDeliveries(t.Context())
	noError(t, err)
	equal(t, want, counts[inboxSink])
}

var inboxTests = []testCase{
	{"a delivery that is sent twice, or after it failed, keeps its first score", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, numbered("n_", 2)...))
		list := f.pending(t, inboxLane)
		f.send(t, list[:1], "", 100)
		noError(t, f.MarkFailed(t.Context(), seqs(list[1:]), delivery.Attempt{Error: "400 bad"}))
		f.send(t, list[1:], "", 200)
		f.send(t, list[:1], "", 300)
		scores, err := f.HighestScores(t.Context(), inboxSink)
		noError(t, err)
		equal(t, map[string]int64{warehouse: 100}, scores)
	}},
	{"an epoch follows the one before", func(t *testing.T, f *fixture) {
		b := f.other(t)
		_, err := f.IndexState(t.Context(), inboxSink)
		isError(t, ledger.ErrNotFound, err)
		one := ledger.IndexState{Epoch: "e1", RunIDs: []string{"r1", "r2"}}
		isError(t, ledger.ErrFenced, f.BeginEpoch(t.Context(), inboxSink, "e0", one, "a", lease))
		noError(t, f.BeginEpoch(t.Context(), inboxSink, "", one, "a", lease))
		isError(t, ledger.ErrFenced, b.BeginEpoch(t.Context(), inboxSink, "", one, "b", lease))
		s, err := b.IndexState(t.Context(), inboxSink)
		noError(t, err)
		one.Building, one.Node, one.Lease = true, "a", start.Add(lease)
		equal(t, one, s)

		two := ledger.IndexState{Epoch: "e2"}
		// Node a rebuilds under a lease in force.
		isError(t, ledger.ErrFenced, b.BeginEpoch(t.Context(), inboxSink, "e1", two, "b", lease))
		isError(t, ledger.ErrFenced, f.FinishEpoch(t.Context(), inboxSink, "e0"))
		noError(t, f.FinishEpoch(t.Context(), inboxSink, "e1"))
		noError(t, b.BeginEpoch(t.Context(), inboxSink, "e1", two, "b", lease))
		isError(t, ledger.ErrFenced, f.BeginEpoch(t.Context(), inboxSink, "e1", two, "a", lease))
		isError(t, ledger.ErrFenced, f.FinishEpoch(t.Context(), inboxSink, "e1"))
		f.clock.Add(lease) // the lease of b runs out
		noError(t, f.BeginEpoch(t.Context(), inboxSink, "e2", ledger.IndexState{Epoch: "e3"}, "a", lease))
		// Node a begins another epoch.
		noError(t, f.BeginEpoch(t.Context(), inboxSink, "e3", ledger.IndexState{Epoch: "e4"}, "a", lease))
		noError(t, f.FinishEpoch(t.Context(), inboxSink, "e4"))
		s, err = f.IndexState(t.Context(), inboxSink)
		noError(t, err)
		equal(t, false, s.Building)
	}},
	{"receipts of an old epoch are not recorded", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox, {Sink: "gateway"}}, numbered("n_", 2)...))
		noError(t, f.BeginEpoch(t.Context(), inboxSink, "", ledger.IndexState{Epoch: "e1"}, "a", lease))
		list := f.pending(t, inboxLane)
		f.send(t, list[:1], "e1", 100)
		noError(t, f.FinishEpoch(t.Context(), inboxSink, "e1"))
		noError(t, f.BeginEpoch(t.Context(), inboxSink, "e1", ledger.IndexState{Epoch: "e2"}, "b", lease))
		err := f.MarkSent(t.Context(), "", []delivery.Receipt{{Seq: list[1].Seq, Score: 101, Epoch: "e1"}}, delivery.Attempt{})
		isError(t, ledger.ErrFenced, err)
		equal(t, []string{"n_00001"}, ids(f.pending(t, inboxLane)))
		f.send(t, list[1:], "e2", 102)
		f.send(t, f.pending(t, ledger.Lane{Sink: "gateway"}), "", 0)
		got, err := f.Delivered(t.Context(), inboxLane, 0, 10)
		noError(t, err)
		equal(t, []ledger.ScoredDelivery{{Delivery: list[0], Score: 100}, {Delivery: list[1], Score: 102}}, got)
	}},
	{"sent deliveries are read by score, page by page, unless they have expired", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		notices := numbered("n_", 7)
		notices[3].ExpiresAt = start.Add(time.Hour)
		f.commit(t, 1, to([]ledger.Target{inbox}, notices...))
		list := f.pending(t, inboxLane)
		// Scores above 2^53, in another order than seq.
		var receipts []delivery.Receipt
		for i, d := range list[:6] {
			receipts = append(receipts, delivery.Receipt{Seq: d.Seq, Score: 1<<60 - int64(i)})
		}
		noError(t, f.MarkSent(t.Context(), "", receipts, delivery.Attempt{}))
		f.clock.Add(time.Hour)
		var got []string
		after := int64(0)
		for {
			page, err := f.Delivered(t.Context(), inboxLane, after, 2)
			noError(t, err)
			if len(page) == 0 {
				break
			}
			for _, d := range page {
				if d.Score <= after {
					t.Fatalf("score %d after %d", d.Score, after)
				}
				after = d.Score
				got = append(got, d.Notice.ID)
				equal(t, []string{"user:1"}, d.Recipients)
			}
		}
		equal(t, []string{"n_00005", "n_00004", "n_00002", "n_00001", "n_00000"}, got)
		scores, err := f.HighestScores(t.Context(), inboxSink)
		noError(t, err)
		equal(t, map[string]int64{warehouse: 1 << 60}, scores)
		scores, err = f.HighestScores(t.Context(), "nobody")
		noError(t, err)
		equal(t, 0, len(scores))
		none, err := f.Delivered(t.Context(), ledger.Lane{Sink: "nobody"}, 0, 10)
		noError(t, err)
		equal(t, 0, len(none))
	}},
}

var recipientTests = []testCase{
	{"recipients are those that a commit would find", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: "user:1"},
			ledger.Subscription{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: "role:keeper"})
		for _, c := range []struct {
			typ, warehouse string
			want           []string
		}{
			{"REP_NOTICE", warehouse, []string{"role:keeper", "user:1"}},
			{"REP_NOTICE", "119241", []string{"user:1"}},
			{"OTHER", warehouse, nil},
		} {
			got, err := f.Recipients(t.Context(), c.typ, c.warehouse)
			noError(t, err)
			equal(t, c.want, got)
		}
	}},
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
		equal(t, ledger.CommitResult{Deliveries: 3, Lanes: []ledger.Lane{inboxLane, lane2}}, done)
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
		equal(t, ledger.CommitResult{Deliveries: 2, Unsubscribed: 2, Lanes: []ledger.Lane{gateway}}, done)
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
		noError(t, f.MarkSent(t.Context(), "", []delivery.Receipt{{Seq: pending[0].Seq, Score: 7}}, delivery.Attempt{}))

		back, alone := to([]ledger.Target{inbox, queue}, newNotice("n_2"))[0], to([]ledger.Target{inbox}, newNotice("n_3"))[0]
		back.After, alone.After = "n_1", "n_0"
		done := f.commit(t, 2, []ledger.NewNotice{back, alone})
		equal(t, ledger.CommitResult{Deliveries: 1, Unsubscribed: 1, Lanes: []ledger.Lane{inboxLane}}, done)
		list := f.pending(t, inboxLane)
		equal(t, []string{"n_2"}, ids(list))
		equal(t, pending[0].Recipients, list[0].Recipients)

		noError(t, f.MarkFailed(t.Context(), []int64{list[0].Seq}, delivery.Attempt{Error: "no"}))
		again := to([]ledger.Target{inbox}, newNotice("n_4"))[0]
		again.After = "n_2"
		// The delivery of n_2 failed, so nobody is told of n_4. But the notice had a subscriber.
		equal(t, ledger.CommitResult{}, f.commit(t, 3, []ledger.NewNotice{again}))
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

package ledgertest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// sessionLease is shorter than lease. So the work of an ended session is free long before the lease of its claim is
// over.
const sessionLease = 4 * time.Second

var sessionTests = []testCase{
	{"sessions begin, are renewed and end", func(t *testing.T, f *fixture) {
		one := ledger.Node{Session: "n/1", Name: "n", Version: "1.2", Rules: "abc", Started: start.Add(-time.Hour), Seen: start, Left: sessionLease}
		two := ledger.Node{Session: "n/2", Name: "n", Version: "1.3", Rules: "def", Started: start, Seen: start, Left: sessionLease}
		zero := ledger.Node{Session: "m/9", Name: "m", Version: "1.3", Rules: "def", Started: start, Seen: start, Left: sessionLease}
		one.Changed, two.Changed, zero.Changed = start, start, start
		for _, n := range []ledger.Node{two, one, zero} {
			noError(t, f.BeginSession(t.Context(), n, sessionLease))
		}
		f.hasNodes(t, zero, one, two)
		f.clock.Add(sessionLease)
		one.Rules, one.Changed, one.Seen, two.Left, zero.Left = "def", f.clock.Now(), f.clock.Now(), 0, 0
		noError(t, f.RenewSession(t.Context(), "n/1", "def", sessionLease))
		f.hasNodes(t, zero, one, two)
		two.Seen, two.Left = f.clock.Now(), sessionLease
		noError(t, f.RenewSession(t.Context(), "n/2", "def", sessionLease)) // no node has buried the session
		f.hasNodes(t, zero, one, two)
		for range 2 {
			noError(t, f.EndSessions(t.Context(), []string{"n/1", "m/9"}))
			f.hasNodes(t, two)
		}
		isError(t, ledger.ErrFenced, f.RenewSession(t.Context(), "n/1", "def", sessionLease))
		f.hasNodes(t, two)
	}},
	{"a session that lives is never buried", func(t *testing.T, f *fixture) {
		f.register(t)
		f.begins(t, "a", start)
		f.begins(t, "b", start)
		c := f.claimByA(t)
		for range 5 {
			f.clock.Add(sessionLease - time.Microsecond)
			noError(t, f.RenewSession(t.Context(), "b/1", "", sessionLease))
			f.buries(t, "b/1")
			noError(t, f.RenewSession(t.Context(), "a/1", "", sessionLease))
		}
		noError(t, f.Renew(t.Context(), c, lease))
	}},
	{"a session whose own lease is over buries nobody, nor does one that has ended", func(t *testing.T, f *fixture) {
		f.begins(t, "a", start)
		f.begins(t, "b", start)
		f.clock.Add(sessionLease)
		f.buries(t, "a/1")
		f.buries(t, "nobody/1")
		noError(t, f.RenewSession(t.Context(), "a/1", "", sessionLease))
		f.buries(t, "a/1", "b/1")
		f.buries(t, "a/1")
	}},
	{"the firing of a session that was buried is free, and its claim is worth nothing", func(t *testing.T, f *fixture) {
		f.register(t)
		f.begins(t, "a", start)
		c := f.claimByA(t)
		f.buriesLate(t)
		list, err := f.Abandoned(t.Context())
		noError(t, err)
		equal(t, 1, len(list))
		equal(t, "a/1", list[0].Node)
		isError(t, ledger.ErrFenced, f.Renew(t.Context(), c, lease))
		isError(t, ledger.ErrFenced, f.Release(t.Context(), c))
		_, err = f.Commit(t.Context(), c, commitOf(c))
		isError(t, ledger.ErrFenced, err)
		again, err := f.other(t).Claim(t.Context(), rule, scope, 0, due(4), "b/1", lease)
		noError(t, err)
		equal(t, due(1), again.Due)
		equal(t, true, again.Repeated)
		if again.Token <= c.Token {
			t.Fatalf("token %d after %d", again.Token, c.Token)
		}
		noError(t, f.EndSessions(t.Context(), []string{"a/1"})) // a second time, which must not affect b
		_, err = f.Commit(t.Context(), again, commitOf(again))
		noError(t, err)
	}},
	{"a firing that was done before the burial stays done, under the node's name", func(t *testing.T, f *fixture) {
		f.register(t)
		f.begins(t, "a", start)
		c := f.claimByA(t)
		run := commitOf(c)
		run.Run.Node = "a"
		done, err := f.Commit(t.Context(), c, run)
		noError(t, err)
		f.buriesLate(t)
		runs, err := f.Runs(t.Context(), rule, nil, 9)
		noError(t, err)
		equal(t, []ledger.Run{run.Run}, runs)
		again, err := f.Commit(t.Context(), c, run)
		noError(t, err)
		equal(t, done, again)
		_, err = f.Claim(t.Context(), rule, scope, 0, due(1), "b/1", lease)
		isError(t, ledger.ErrDone, err)
	}},
	{"the lane of a session that was buried is free, and what the session sent is not recorded", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")), insert("k1")...)
		f.begins(t, "a", start)
		held, err := f.AcquireLane(t.Context(), inboxLane, "a/1", lease)
		noError(t, err)
		equal(t, true, held)
		f.holdsLanes(t, ledger.HeldLane{Lane: inboxLane, Session: "a/1"})
		batch := f.pending(t, inboxLane)
		f.buriesLate(t)
		f.holdsLanes(t)
		receipts := []delivery.Receipt{{Seq: batch[0].Seq, Score: 7}}
		isError(t, ledger.ErrFenced, f.MarkSent(t.Context(), "a/1", receipts, delivery.Attempt{}))
		held, err = f.other(t).AcquireLane(t.Context(), inboxLane, "b/1", lease)
		noError(t, err)
		equal(t, true, held)
		noError(t, f.EndSessions(t.Context(), []string{"a/1"}))
		noError(t, f.ReleaseLane(t.Context(), inboxLane, "a/1"))
		f.holdsLanes(t, ledger.HeldLane{Lane: inboxLane, Session: "b/1"})
		isError(t, ledger.ErrFenced, f.MarkSent(t.Context(), "a/1", receipts, delivery.Attempt{}))
		equal(t, 1, len(f.pending(t, inboxLane)))
		noError(t, f.MarkSent(t.Context(), "b/1", receipts, delivery.Attempt{}))
		equal(t, 0, len(f.pending(t, inboxLane)))
	}},
	{"the lane of a session that has not ended stays with it, also where the clock ended the lane's lease", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")), insert("k1")...)
		f.begins(t, "a", start)
		f.begins(t, "b", start)
		held, err := f.AcquireLane(t.Context(), inboxLane, "a/1", lease)
		noError(t, err)
		equal(t, true, held)
		f.clock.Add(time.Hour)
		held, err = f.other(t).AcquireLane(t.Context(), inboxLane, "b/1", lease)
		noError(t, err)
		equal(t, false, held)
		noError(t, f.MarkSent(t.Context(), "a/1", []delivery.Receipt{{Seq: f.pending(t, inboxLane)[0].Seq, Score: 7}}, delivery.Attempt{}))
		noError(t, f.EndSessions(t.Context(), []string{"a/1"}))
		held, err = f.other(t).AcquireLane(t.Context(), inboxLane, "b/1", lease)
		noError(t, err)
		equal(t, true, held)
	}},
	{"what a session holds that ends by itself is free at once", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 0, to([]ledger.Target{inbox}, newNotice("n_1")), insert("k1")...)
		f.begins(t, "a", start)
		f.begins(t, "b", start)
		c := f.claimByA(t)
		_, err := f.AcquireLane(t.Context(), inboxLane, "a/1", lease)
		noError(t, err)
		noError(t, f.EndSessions(t.Context(), []string{"b/1"}))
		noError(t, f.Renew(t.Context(), c, lease))
		f.holdsLanes(t, ledger.HeldLane{Lane: inboxLane, Session: "a/1"})
		noError(t, f.EndSessions(t.Context(), []string{"a/1"}))
		f.holdsLanes(t)
		list, err := f.Abandoned(t.Context())
		noError(t, err)
		equal(t, 1, len(list))
	}},
	{"nodes that bury at once bury each session once", func(t *testing.T, f *fixture) {
		const many = 20
		for i := range many {
			f.begins(t, numbered("d", many)[i].ID, start)
		}
		f.clock.Add(sessionLease)
		var mu sync.Mutex
		buried := map[string]int{}
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
			if err := l.BeginSession(ctx, ledger.Node{Session: node + "/1", Name: node, Started: start}, sessionLease); err != nil {
				return err
			}
			for range 3 {
				ended, err := l.BurySessions(ctx, node+"/1")
				if err != nil {
					return err
				}
				mu.Lock()
				for i := range ended {
					buried[ended[i].Session]++
				}
				mu.Unlock()
			}
			return nil
		})
		equal(t, many, len(buried))
		for id, n := range buried {
			if n != 1 {
				t.Errorf("%s was buried %d times", id, n)
			}
		}
	}},
}

// sessionWorkTests are about work of sessions that the ledger of engine/enginetest does not have.
var sessionWorkTests = []testCase{
	{"deliveries to push channels that a buried session had claimed are free, and its settlements are void", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 0, to([]ledger.Target{important}, numbered("n_", 5)...))
		f.begins(t, "a", start)
		old := f.claimPushes(t, "a/1", 4).List
		others := f.claimPushes(t, "c/1", 9).List
		equal(t, 1, len(others))
		f.buriesLate(t)
		for _, kind := range []delivery.SettleKind{delivery.SettleFailed, delivery.SettleAgain, delivery.SettleRelease} {
			f.settle(t, old[:1], kind, time.Hour)
		}
		b, err := f.other(t).ClaimPushes(t.Context(), gateway, "b/1", lease, 9)
		noError(t, err)
		equal(t, 4, len(b.List))
		noError(t, f.EndSessions(t.Context(), []string{"a/1"}))
		equal(t, 0, len(f.claimPushes(t, "d/1", 9).List))
		for _, kind := range []delivery.SettleKind{delivery.SettleFailed, delivery.SettleAgain, delivery.SettleRelease} {
			f.settle(t, old[:1], kind, time.Hour)
		}
		f.settle(t, old[3:], delivery.SettleSent, 0) // recorded, because it is true
		f.settle(t, append(b.List[:3:3], others...), delivery.SettleSent, 0)
		f.hasGateway(t, map[ledger.DeliveryState]int64{ledger.DeliverySent: 5})
	}},
	{"a node gives back only the claims that it does not know of", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 0, to([]ledger.Target{important}, numbered("n_", 6)...))
		f.begins(t, "a", start)
		known := f.claimPushes(t, "a/1", 2).List
		lost := f.claimPushes(t, "a/1", 2).List
		others := f.claimPushes(t, "c/1", 2).List
		noError(t, f.ReleasePushes(t.Context(), inboxSink, "a/1", nil))
		equal(t, 0, len(f.claimPushes(t, "b/1", 9).List))
		noError(t, f.ReleasePushes(t.Context(), gateway, "a/1", []int64{known[0].Seq, known[1].Seq}))
		f.settle(t, lost[:1], delivery.SettleRelease, 0) // settled too late
		free := f.claimPushes(t, "b/1", 9).List
		equal(t, []int64{lost[0].Seq, lost[1].Seq}, []int64{free[0].Seq, free[1].Seq})
		f.settle(t, lost, delivery.SettleFailed, 0)
		f.settle(t, slices.Concat(known, free, others), delivery.SettleSent, 0)
		f.hasGateway(t, map[ledger.DeliveryState]int64{ledger.DeliverySent: 6})
		f.commit(t, 2, to([]ledger.Target{important}, newNotice("n_last")))
		last := f.claimPushes(t, "a/1", 2).List
		noError(t, f.ReleasePushes(t.Context(), gateway, "a/1", nil)) // all claims
		equal(t, last[0].Seq, f.claimPushes(t, "b/1", 2).List[0].Seq)
	}},
	{"an index that a session wrote back when it was buried may be written back by another at once", func(t *testing.T, f *fixture) {
		f.begins(t, "a", start)
		one := ledger.IndexState{Epoch: "e1"}
		noError(t, f.BeginEpoch(t.Context(), inboxSink, "", one, "a/1", lease))
		next := ledger.IndexState{Epoch: "e2"}
		isError(t, ledger.ErrFenced, f.BeginEpoch(t.Context(), inboxSink, "e1", next, "b/1", lease))
		f.buriesLate(t)
		noError(t, f.BeginEpoch(t.Context(), inboxSink, "e1", next, "b/1", lease))
		isError(t, ledger.ErrFenced, f.BeginEpoch(t.Context(), inboxSink, "e1", one, "a/1", lease))
		isError(t, ledger.ErrFenced, f.FinishEpoch(t.Context(), inboxSink, "e1"))
		noError(t, f.EndSessions(t.Context(), []string{"a/1"}))
		isError(t, ledger.ErrFenced, f.BeginEpoch(t.Context(), inboxSink, "e2", one, "c/1", lease))
	}},
}

// begins begins the first session of the node.
func (f *base) begins(t testing.TB, node string, at time.Time) {
	t.Helper()
	noError(t, f.BeginSession(t.Context(), ledger.Node{Session: delivery.SessionID(node, "1"), Name: node, Started: at}, sessionLease))
}

// buries lets the session bury others, and checks which.
func (f *base) buries(t testing.TB, self string, want ...string) {
	t.Helper()
	ended, err := f.other(t).BurySessions(t.Context(), self)
	noError(t, err)
	var got []string
	for i := range ended {
		got = append(got, ended[i].Session)
	}
	equal(t, want, got)
}

// buriesLate lets the session a/1 run out, and b bury it.
func (f *base) buriesLate(t testing.TB) {
	t.Helper()
	f.clock.Add(sessionLease)
	f.begins(t, "b", f.clock.Now())
	f.buries(t, "b/1", "a/1")
}

// claimByA claims the first firing in the name of the session a/1.
func (f *base) claimByA(t testing.TB) ledger.Claim {
	t.Helper()
	c, err := f.Claim(t.Context(), rule, scope, 0, due(1), "a/1", lease)
	noError(t, err)
	return c
}

func (f *base) hasNodes(t testing.TB, want ...ledger.Node) {
	t.Helper()
	got, err := f.other(t).Nodes(t.Context())
	noError(t, err)
	equal(t, want, got)
}

func (f *base) holdsLanes(t testing.TB, want ...ledger.HeldLane) {
	t.Helper()
	got, err := f.other(t).HeldLanes(t.Context())
	noError(t, err)
	equal(t, want, got)
}

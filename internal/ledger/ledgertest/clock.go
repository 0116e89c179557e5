package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

// setBack is how far the clock goes back in these tests.
const setBack = 10 * time.Minute

// turn sets the ledger's clock back and begins the next term.
func (f *base) turn(t testing.TB) {
	t.Helper()
	was := f.readClock(t)
	f.clock.Add(-setBack)
	begun, err := f.BeginTerm(t.Context(), Ann, was, setBack, lease)
	noError(t, err)
	equal(t, true, begun)
}

func (f *base) readClock(t testing.TB) ledger.ClockState {
	t.Helper()
	state, err := f.ReadClock(t.Context())
	noError(t, err)
	return state
}

var clockTests = []testCase{
	{"a term begins once, however many nodes have seen that the clock went back", func(t *testing.T, f *fixture) {
		was := f.readClock(t)
		equal(t, ledger.ClockState{Machine: start}, was)
		noError(t, f.SeeTime(t.Context(), was))
		f.clock.Add(-setBack)
		for i, node := range []ledger.Ledger{f.Ledger, f.other(t)} {
			begun, err := node.BeginTerm(t.Context(), Ann, was, setBack, lease)
			noError(t, err)
			equal(t, i == 0, begun)
		}
		began := start.Add(-setBack)
		equal(t, ledger.ClockState{Term: ledger.Term{Number: 1, Began: began, Back: setBack}, Machine: began, Seen: began}, f.readClock(t))
		noError(t, f.SeeTime(t.Context(), was)) // from a node that does not know the new term
		equal(t, began, f.readClock(t).Seen)
	}},
	{"the latest time that nodes have seen is kept", func(t *testing.T, f *fixture) {
		was := f.readClock(t)
		later := was
		later.Machine = start.Add(time.Minute)
		noError(t, f.SeeTime(t.Context(), later))
		noError(t, f.SeeTime(t.Context(), was))
		equal(t, start.Add(time.Minute), f.readClock(t).Seen)
	}},
	{"the clock stays withheld until an operator confirms it", func(t *testing.T, f *fixture) {
		f.clock.Add(2 * time.Hour)
		was := f.readClock(t)
		was.Since = start
		for i, node := range []ledger.Ledger{f.Ledger, f.other(t)} {
			done, err := node.WithholdClock(t.Context(), Ann, was, 2*time.Hour)
			noError(t, err)
			equal(t, i == 0, done)
		}
		state := f.readClock(t)
		equal(t, ledger.ClockState{Machine: start.Add(2 * time.Hour), Withheld: 2 * time.Hour, Since: start}, state)
		equal(t, start, state.Now())
		noError(t, f.ConfirmClock(t.Context(), Ann, "it is right"))
		equal(t, ledger.ClockState{Machine: start.Add(2 * time.Hour)}, f.readClock(t))
		isError(t, ledger.ErrNotFound, f.ConfirmClock(t.Context(), Ann, "again"))
		list, _, err := f.Changes(t.Context(), ledger.ChangeFilter{Object: "clock", Limit: 9})
		noError(t, err)
		equal(t, 2, len(list))
		equal(t, "clock.confirm", list[0].Action)
		equal(t, "it is right", list[0].Reason)
	}},
	{"a firing of a new term runs, whatever the previous term did", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 3, nil)
		f.turn(t)
		_, err := f.Claim(t.Context(), rule, scope, 0, due(3), "a", lease)
		isError(t, ledger.ErrDone, err)
		c, err := f.Claim(t.Context(), rule, scope, 1, due(2), "a", lease)
		noError(t, err)
		equal(t, int64(1), c.Term)
		run := commitOf(c)
		run.Run.Term, run.Findings = 1, insert("k")
		run.Findings[0].Term = 1
		_, err = f.Commit(t.Context(), c, run)
		noError(t, err)
		state, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, due(2), state.Done)
		equal(t, int64(1), state.Term)
		open, err := f.Findings(t.Context(), rule, scope)
		noError(t, err)
		equal(t, []finding.State{run.Findings[0].State}, open)
		for _, done := range []struct {
			term int64
			n    int
		}{{0, 4}, {1, 2}, {1, 1}} {
			_, err = f.Claim(t.Context(), rule, scope, done.term, due(done.n), "b", lease)
			isError(t, ledger.ErrDone, err)
		}
		runs, err := f.Runs(t.Context(), rule, nil, 9)
		noError(t, err)
		equal(t, 2, len(runs))
		equal(t, due(2), runs[0].Due)
		equal(t, int64(1), runs[0].Term)
		last, err := f.LastRuns(t.Context())
		noError(t, err)
		equal(t, due(2), last[0].Due)
		progress, err := f.Progress(t.Context())
		noError(t, err)
		equal(t, []ledger.Progress{{Rule: rule, Scope: scope, Term: 1, Done: due(2), RunningTerm: 1}}, progress)
	}},
	{"the same due time runs in each term, and pruning keeps the latest", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, nil)
		f.commit(t, 2, nil)
		f.turn(t)
		c, err := f.Claim(t.Context(), rule, scope, 1, due(1), "a", lease)
		noError(t, err)
		run := commitOf(c)
		run.Run.Term = 1
		_, err = f.Commit(t.Context(), c, run)
		noError(t, err)
		equal(t, true, f.skip(t, 1, 2, "a", "overlap"))
		equal(t, false, f.skip(t, 0, 3, "a", "of the term before"))
		runs, err := f.Runs(t.Context(), rule, nil, 9)
		noError(t, err)
		equal(t, 4, len(runs))
		_, err = f.Prune(t.Context(), start.Add(-time.Hour), 2)
		noError(t, err)
		runs, err = f.Runs(t.Context(), rule, nil, 9)
		noError(t, err)
		equal(t, 2, len(runs))
		for _, r := range runs {
			equal(t, int64(1), r.Term)
		}
	}},
	{"a firing that was abandoned in the previous term is claimed as it was", func(t *testing.T, f *fixture) {
		f.register(t)
		f.claim(t, 3)
		f.turn(t)
		_, err := f.Claim(t.Context(), rule, scope, 1, due(1), "b", lease)
		isError(t, ledger.ErrBusy, err)
		f.clock.Add(lease) // the rest of the lease
		left, err := f.Abandoned(t.Context())
		noError(t, err)
		equal(t, 1, len(left))
		c, err := f.Claim(t.Context(), rule, scope, 1, due(1), "b", lease)
		noError(t, err)
		equal(t, due(3), c.Due)
		equal(t, int64(0), c.Term)
		equal(t, true, c.Repeated)
		_, err = f.Commit(t.Context(), c, commitOf(c))
		noError(t, err)
		c, err = f.Claim(t.Context(), rule, scope, 1, due(1), "b", lease)
		noError(t, err)
		equal(t, due(1), c.Due)
		equal(t, int64(1), c.Term)
	}},
	{"a lease keeps the rest of its time, and an ended lease stays ended", func(t *testing.T, f *fixture) {
		lane := ledger.Lane{Sink: "inbox", Warehouse: "119240"}
		over := ledger.Lane{Sink: "inbox", Warehouse: "119241"}
		for at, l := range map[time.Duration]ledger.Lane{0: over, 2 * lease: lane} {
			f.clock.Add(at)
			ok, err := f.AcquireLane(t.Context(), l, "a", lease)
			noError(t, err)
			equal(t, true, ok)
			f.clock.Add(-at)
		}
		f.clock.Add(2*lease + lease/2)
		f.turn(t)
		for l, want := range map[ledger.Lane]bool{lane: false, over: true} {
			ok, err := f.AcquireLane(t.Context(), l, "b", lease)
			noError(t, err)
			equal(t, want, ok)
		}
		f.clock.Add(lease / 2)
		ok, err := f.AcquireLane(t.Context(), lane, "b", lease)
		noError(t, err)
		equal(t, true, ok)
	}},
	{"leases that the clock gave after it went back are not cut", func(t *testing.T, f *fixture) {
		was := f.readClock(t)
		f.clock.Add(-7 * time.Second)
		lane := ledger.Lane{Sink: "inbox", Warehouse: "119240"}
		ok, err := f.AcquireLane(t.Context(), lane, "a", lease)
		noError(t, err)
		equal(t, true, ok)
		begun, err := f.BeginTerm(t.Context(), Ann, was, 7*time.Second, lease)
		noError(t, err)
		equal(t, true, begun)
		f.clock.Add(lease - time.Second)
		ok, err = f.AcquireLane(t.Context(), lane, "b", lease)
		noError(t, err)
		equal(t, false, ok)
	}},
	{"a delivery to a push channel waits no longer than it would have", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		n := newNotice("n_1")
		n.CreatedAt = start
		n.ExpiresAt = start.Add(time.Hour)
		strategy := &delivery.Strategy{Kind: delivery.Delayed, Delay: 2 * time.Minute}
		f.commit(t, 1, []ledger.NewNotice{{Notice: n, Sinks: []ledger.Target{{Sink: "gate", Strategy: strategy}}}})
		f.turn(t)
		for _, want := range []int{0, 1} {
			claims, err := f.ClaimPushes(t.Context(), "gate", "a", lease, 9)
			noError(t, err)
			equal(t, want, len(claims.List))
			f.clock.Add(2 * time.Minute)
		}
	}},
	{"a node with a time of its own expires and prunes by that time", func(t *testing.T, f *fixture) {
		if f.db.OneNode {
			return // only one ledger can open the file; tests of sqlite cover NodeTime
		}
		f.subscribed(t)
		n := newNotice("n_1")
		n.CreatedAt, n.ExpiresAt = start, start.Add(time.Hour)
		f.commit(t, 1, []ledger.NewNotice{{Notice: n, Sinks: []ledger.Target{{Sink: "gate", Strategy: &delivery.Strategy{Kind: delivery.Important}}}}})
		f.clock.Add(2 * time.Hour)
		careful := f.db.Open(t, ledger.Options{Now: f.clock.Now, NodeTime: func() time.Time { return start.Add(time.Minute) }})
		for i, l := range []ledger.Ledger{careful, f.Ledger} {
			_, canceled, err := l.EndPushes(t.Context(), "gate", 9)
			noError(t, err)
			equal(t, i, canceled)
			removed, err := l.Prune(t.Context(), start.Add(30*time.Minute), 9)
			noError(t, err)
			equal(t, i == 1, removed > 0)
		}
	}},
	{"a claim of a push channel ends by the clock of leases, for operators too", func(t *testing.T, f *fixture) {
		if f.db.OneNode {
			return // SQLite has one clock for deliveries and their claims
		}
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, ofKey("k", 0), ofKey("k", 1)))
		const jump = 2 * time.Hour
		f.clock.Add(jump)
		careful := f.db.Open(t, ledger.Options{Now: f.clock.Now, NodeTime: func() time.Time { return f.clock.Now().Add(-jump) }})
		claims := func(want int64) []delivery.PushClaim {
			t.Helper()
			got, err := careful.ClaimPushes(t.Context(), gateway, "a", lease, 10)
			noError(t, err)
			equal(t, []int64{want}, claimedSeqs(got))
			return got.List
		}
		noError(t, careful.SettlePushes(t.Context(), settled(claims(1), delivery.SettleFailed, 0)))
		claims(2)
		stands := func(seq int64, node string, next time.Time) {
			t.Helper()
			d, err := careful.Delivery(t.Context(), seq)
			noError(t, err)
			equal(t, node, d.Node)
			equal(t, next, d.Next)
		}
		stands(2, "a", start.Add(lease))
		f.clock.Add(lease)
		stands(2, "", start)
		changed, _, err := careful.RetryDeliveries(t.Context(), Ann, []int64{1, 2})
		noError(t, err)
		equal(t, []int64{1, 2}, changed)
		claims(1)
		held, err := careful.ListDeliveries(t.Context(), ledger.DeliveryFilter{Held: true, Limit: 9})
		noError(t, err)
		equal(t, 1, len(held))
		equal(t, int64(2), held[0].Seq)
	}},
	{"a session keeps the rest of its lease, and an ended one stays ended", func(t *testing.T, f *fixture) {
		f.begins(t, "dead", start)
		f.clock.Add(2 * sessionLease)
		f.begins(t, "late", f.clock.Now())
		f.begins(t, "a", f.clock.Now())
		f.clock.Add(sessionLease / 2)
		f.turn(t)
		noError(t, f.RenewSession(t.Context(), "a/1", "", time.Hour))
		f.buries(t, "a/1", "dead/1")
		f.clock.Add(sessionLease/2 - time.Microsecond)
		f.buries(t, "a/1")
		f.clock.Add(time.Microsecond)
		f.buries(t, "a/1", "late/1")
	}},
	{"a session that was renewed after the clock went back is not cut", func(t *testing.T, f *fixture) {
		f.begins(t, "b", start)
		was := f.readClock(t)
		f.clock.Add(-7 * time.Second)
		noError(t, f.RenewSession(t.Context(), "b/1", "", sessionLease))
		begun, err := f.BeginTerm(t.Context(), Ann, was, 7*time.Second, lease)
		noError(t, err)
		equal(t, true, begun)
		f.clock.Add(sessionLease - time.Microsecond)
		f.begins(t, "a", f.clock.Now())
		f.buries(t, "a/1")
	}},
}

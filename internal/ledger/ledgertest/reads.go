package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

var readerTests = []testCase{
	{"runs come latest first, by rule and scope", func(t *testing.T, f *fixture) {
		f.register(t)
		_, err := f.Register(t.Context(), rule, "119241", 0, start)
		noError(t, err)
		for n := 1; n <= 3; n++ {
			f.commit(t, n, nil)
		}
		c, err := f.Claim(t.Context(), rule, "119241", 0, due(2), "b", lease)
		noError(t, err)
		_, err = f.Commit(t.Context(), c, commitOf(c))
		noError(t, err)
		mine := scope
		f.hasRuns(t, &mine, 10, due(3), due(2), due(1))
		f.hasRuns(t, &mine, 2, due(3), due(2))
		f.hasRuns(t, nil, 10, due(3), due(2), due(2), due(1))
		last, err := f.LastRuns(t.Context())
		noError(t, err)
		equal(t, []time.Time{due(3), due(2)}, dues(last))
		equal(t, okRun(c), last[1])
		f.forget(t, ledger.ScopeKey(rule, scope))
		last, err = f.LastRuns(t.Context())
		noError(t, err)
		equal(t, []time.Time{due(3)}, dues(last))
	}},
	{"progress is the last firing that is done, and the firing under a lease in force", func(t *testing.T, f *fixture) {
		_, err := f.Register(t.Context(), rule, "119241", 0, start)
		noError(t, err)
		f.register(t)
		f.commit(t, 1, nil)
		f.claim(t, 2)
		given, err := f.Claim(t.Context(), rule, "119241", 0, due(3), "b", lease)
		noError(t, err)
		noError(t, f.Release(t.Context(), given))
		list, err := f.Progress(t.Context())
		noError(t, err)
		for i := range list {
			list[i].Done, list[i].Running = list[i].Done.UTC(), list[i].Running.UTC()
		}
		equal(t, []ledger.Progress{{Rule: rule, Scope: scope, Done: due(1), Running: due(2)}, {Rule: rule, Scope: "119241", Done: start}}, list)
	}},
	{"a skipped firing leaves the findings of the last run to be seen", func(t *testing.T, f *fixture) {
		f.register(t)
		f.skip(t, 0, 1, "b", "overlap")
		last, err := f.LastRuns(t.Context())
		noError(t, err)
		equal(t, [2]int{0, 0}, [2]int{last[0].Pending, last[0].Firing})
		run := commitOf(f.claim(t, 2))
		run.Run.Pending, run.Run.Firing = 3, 4
		f.skip(t, 0, 3, "b", "overlap")
		f.skip(t, 0, 4, "b", "overlap")
		c, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		_, err = f.Commit(t.Context(), *c.Running, run)
		noError(t, err)
		last, err = f.LastRuns(t.Context())
		noError(t, err)
		equal(t, ledger.OutcomeSkipped, last[0].Outcome)
		equal(t, [2]int{3, 4}, [2]int{last[0].Pending, last[0].Firing})
	}},
	{"it knows since when the runs of a rule are not ok", func(t *testing.T, f *fixture) {
		f.register(t)
		unwell := func() time.Time {
			list, err := f.Progress(t.Context())
			noError(t, err)
			return list[0].Unwell
		}
		run := func(n int, outcome ledger.Outcome, again bool, want time.Time) {
			c := f.claim(t, n)
			commit := commitOf(c)
			commit.Run.Outcome, commit.Again = outcome, again
			_, err := f.Commit(t.Context(), c, commit)
			noError(t, err)
			equal(t, want, unwell())
		}
		equal(t, time.Time{}, unwell())
		run(1, ledger.OutcomeOK, false, time.Time{})
		run(2, ledger.OutcomeDegraded, false, due(2))
		run(3, ledger.OutcomeFailed, false, due(2))
		f.skip(t, 0, 4, "b", "overlap")
		equal(t, due(2), unwell())
		run(5, ledger.OutcomeOK, false, time.Time{})
		run(6, ledger.OutcomeOK, false, time.Time{}) // joins the record of the previous run
		run(7, ledger.OutcomeDegraded, true, due(7))
		s, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		// One successful part does not make the firing ok.
		_, err = f.Commit(t.Context(), *s.Running, commitOf(*s.Running))
		noError(t, err)
		equal(t, due(7), unwell())
		run(8, ledger.OutcomeOK, false, time.Time{})
	}},
	{"runs are summed up by rule and scope", func(t *testing.T, f *fixture) {
		f.register(t)
		_, err := f.Register(t.Context(), rule, "119241", 0, start)
		noError(t, err)
		want := ledger.RunSum{Rule: rule, Scope: scope, Runs: 2, First: due(1)}
		for n := 1; n <= 2; n++ {
			c := f.claim(t, n)
			run := commitOf(c)
			run.Run.Rows, run.Run.Errored, run.Run.Duration = 10*n, n, time.Duration(n)*time.Second
			run.Run.Notices = 3 * n
			if n == 2 {
				run.Run.Outcome = ledger.OutcomeDegraded
			}
			want.Last = append(want.Last, ledger.Brief{Took: run.Run.Duration, Outcome: run.Run.Outcome})
			_, err := f.Commit(t.Context(), c, run)
			noError(t, err)
			want.Rows, want.Errored, want.Notices = want.Rows+int64(10*n), want.Errored+int64(n), want.Notices+int64(3*n)
		}
		f.skip(t, 0, 3, "b", "overlap")
		want.Runs++
		sums, err := f.RunSums(t.Context())
		noError(t, err)
		equal(t, []ledger.RunSum{want, {Rule: rule, Scope: "119241"}}, sums)
	}},
	{"notices are counted by type, rule and status", func(t *testing.T, f *fixture) {
		f.register(t)
		resolved := newNotice("n_3")
		resolved.Status, resolved.CreatedAt = notice.Resolved, due(1)
		f.commit(t, 1, to(nil, newNotice("n_1"), newNotice("n_2"), resolved))
		totals, err := f.Totals(t.Context())
		noError(t, err)
		equal(t, []ledger.Total{
			{Type: "REP_NOTICE", Rule: rule, Status: "firing", Count: 2, Latest: start},
			{Type: "REP_NOTICE", Rule: rule, Status: "resolved", Count: 1, Latest: due(1)},
		}, totals)
	}},
	{"it tells the time that leases are judged by", func(t *testing.T, f *fixture) {
		for range 2 {
			state, err := f.ReadClock(t.Context())
			noError(t, err)
			equal(t, ledger.ClockState{Machine: f.clock.Now()}, state)
			f.clock.Add(time.Second)
		}
	}},
	{"it answers and knows its version", func(t *testing.T, f *fixture) {
		noError(t, f.Ping(t.Context()))
		v, err := f.Version(t.Context())
		noError(t, err)
		if v < 1 {
			t.Fatalf("version %d", v)
		}
	}},
}

func (f *base) hasRuns(t testing.TB, scope *string, limit int, want ...time.Time) {
	t.Helper()
	runs, err := f.Runs(t.Context(), rule, scope, limit)
	noError(t, err)
	equal(t, want, dues(runs))
}

func dues(runs []ledger.Run) []time.Time {
	out := make([]time.Time, len(runs))
	for i, r := range runs {
		out[i] = r.Due
	}
	return out
}

var pruneTests = []testCase{
	{"pruning takes what is old and finished, and nothing else", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		const day = 24 * time.Hour
		made := func(id string, created, expires time.Duration) *notice.Notice {
			n := newNotice(id)
			n.CreatedAt, n.ExpiresAt = start.Add(created), start.Add(expires)
			return n
		}
		targets := []ledger.Target{inbox, {Sink: "gone"}}
		f.commit(t, 1, to(targets, made("n_old", 0, day), made("n_named", 0, day), made("n_living", 0, 100*day),
			made("n_new", 50*day, 51*day)), ledger.FindingChange{Op: ledger.Insert, State: firing("named")})
		f.commit(t, 2, to(nil, made("n_unsubscribed", 0, day)))
		f.send(t, f.pending(t, inboxLane), "", 1)
		f.clock.Add(60 * day)
		equal(t, 1, len(f.pending(t, ledger.Lane{Sink: "gone"}))) // n_living; the others are canceled
		n, err := f.Prune(t.Context(), start.Add(40*day), 5)
		noError(t, err)
		equal(t, int64(4), n) // n_old with two deliveries, n_unsubscribed
		found, err := f.Notices(t.Context(), []string{"n_old", "n_named", "n_living", "n_new", "n_unsubscribed"})
		noError(t, err)
		for _, id := range []string{"n_named", "n_living", "n_new"} {
			if found[id] == nil {
				t.Fatalf("%s is gone", id)
			}
		}
		equal(t, 3, len(found))
		f.hasCounts(t, map[ledger.DeliveryState]int64{1: 3})
		f.commit(t, 3, nil, ledger.FindingChange{Op: ledger.Delete, State: firing("named")})
		n, err = f.Prune(t.Context(), start.Add(40*day), 5)
		noError(t, err)
		equal(t, int64(3), n)
	}},
	{"a delivery that waits is not pruned while its notice lives", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")))
		f.clock.Add(24*time.Hour - time.Microsecond)
		n, err := f.Prune(t.Context(), f.clock.Now(), 5)
		noError(t, err)
		equal(t, int64(0), n)
		equal(t, 1, len(f.pending(t, inboxLane)))
		f.clock.Add(time.Microsecond) // the notice has expired
		n, err = f.Prune(t.Context(), f.clock.Now(), 5)
		noError(t, err)
		equal(t, int64(2), n)
	}},
	{"the last firings of each rule and scope stay", func(t *testing.T, f *fixture) {
		f.register(t)
		_, err := f.Register(t.Context(), rule, "119241", 0, start)
		noError(t, err)
		for n := 1; n <= 6; n++ {
			c := f.claim(t, n)
			run := commitOf(c)
			run.Run.Rows = n // otherwise the runs would share a record
			_, err := f.Commit(t.Context(), c, run)
			noError(t, err)
		}
		c, err := f.Claim(t.Context(), rule, "119241", 0, due(1), "b", lease)
		noError(t, err)
		_, err = f.Commit(t.Context(), c, commitOf(c))
		noError(t, err)
		n, err := f.Prune(t.Context(), start, 2)
		noError(t, err)
		equal(t, int64(4), n)
		f.hasRuns(t, nil, 10, due(6), due(5), due(1))
		n, err = f.Prune(t.Context(), start, 0)
		noError(t, err)
		equal(t, int64(1), n)
		f.hasRuns(t, nil, 10, due(6), due(1))
	}},
	{"runs of a rule that is gone go when they are old", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, nil)
		f.commit(t, 2, nil)
		_, err := f.Prune(t.Context(), start.Add(time.Hour), 2)
		noError(t, err)
		f.hasRuns(t, nil, 1, due(2))
		f.forget(t)
		_, err = f.Prune(t.Context(), due(2), 2)
		noError(t, err)
		f.hasRuns(t, nil, 1, due(2))
		_, err = f.Prune(t.Context(), start.Add(time.Hour), 2)
		noError(t, err)
		f.hasRuns(t, nil, 1)
	}},
	{"more than a batch is pruned in one call", func(t *testing.T, f *fixture) {
		const n = 2100
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, numbered("n_", n)...))
		f.send(t, f.pending(t, inboxLane), "", 1)
		f.clock.Add(48 * time.Hour)
		removed, err := f.Prune(t.Context(), f.clock.Now(), 5)
		noError(t, err)
		equal(t, int64(2*n), removed)
	}},
}

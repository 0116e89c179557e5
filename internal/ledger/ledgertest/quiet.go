package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

// quietTests are about runs that change nothing. Consecutive runs of this kind with the same result share a record.
// Claims and commits at the same time may share a statement. Readers see no difference.
var quietTests = []testCase{
	{"a run that changed nothing and is committed again is answered as before", func(t *testing.T, f *fixture) {
		f.register(t)
		for n := 1; n <= 3; n++ {
			c := f.claim(t, n)
			for range 3 {
				done, err := f.Commit(t.Context(), c, commitOf(c))
				noError(t, err)
				equal(t, ledger.CommitResult{}, done)
			}
		}
		f.hasRuns(t, nil, 10, due(3), due(2), due(1))
	}},
	{"a run that changed nothing is fenced like any other", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, nil)
		late := f.claim(t, 2)
		f.clock.Add(lease)
		c, err := f.other(t).Claim(t.Context(), rule, scope, 0, due(3), "b", lease)
		noError(t, err)
		equal(t, due(2), c.Due)
		equal(t, true, c.Repeated)
		_, err = f.Commit(t.Context(), late, commitOf(late))
		isError(t, ledger.ErrFenced, err)
		_, err = f.Commit(t.Context(), c, commitOf(c))
		noError(t, err)
		_, err = f.Commit(t.Context(), late, commitOf(late))
		isError(t, ledger.ErrFenced, err)
		f.hasRuns(t, nil, 10, due(2), due(1))
	}},
	{"what a claim says of the scope is as it was", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, nil)
		want, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		c, err := f.Claim(t.Context(), rule, scope, 0, due(2), "a", lease)
		noError(t, err)
		if c.State != nil {
			equal(t, want, *c.State)
		}
	}},
	{"a claim has the previous token only if the same node had it and nothing came between", func(t *testing.T, f *fixture) {
		f.register(t)
		claim := func(n int, node string) ledger.Claim {
			c, err := f.Claim(t.Context(), rule, scope, 0, due(n), node, lease)
			noError(t, err)
			_, err = f.Commit(t.Context(), c, commitOf(c))
			noError(t, err)
			return c
		}
		first := claim(1, "a")
		if second := claim(2, "a"); second.Before != 0 && second.Before != first.Token {
			t.Errorf("the claim names %d, the one before was %d", second.Before, first.Token)
		}
		claim(3, "b")
		equal(t, int64(0), claim(4, "a").Before)
		last := claim(5, "a")
		_, err := f.Rewind(t.Context(), Ann, rewindTo(1))
		noError(t, err)
		if c := claim(6, "a"); c.Before == last.Token {
			t.Error("the claim has the previous token, although the scope was rewound in between")
		}
	}},
	{"scopes that are registered at once are registered once each", func(t *testing.T, f *fixture) {
		const scopes = 300
		_, err := f.Register(t.Context(), rule, "7", 0, start)
		noError(t, err)
		_, err = f.Claim(t.Context(), rule, "7", 0, due(1), "a", lease)
		noError(t, err)
		nodes := map[int]ledger.Ledger{1: f.Ledger, 2: f.other(t)}
		var mu sync.Mutex
		known := map[string]time.Time{}
		var all sync.WaitGroup
		for node, l := range nodes {
			for i := range scopes {
				name := fmt.Sprint((i*(2*node-3)%scopes + scopes) % scopes) // the nodes begin at different ends
				all.Go(func() {
					s, err := l.Register(t.Context(), rule, name, int64(node), start.Add(time.Duration(node)*time.Second))
					mu.Lock()
					defer mu.Unlock()
					if err != nil || (s.Running != nil) != (name == "7") || !known[name].IsZero() && !known[name].Equal(s.Registered) {
						t.Errorf("scope %s: %+v, %v; another node was told %s", name, s, err, known[name])
					}
					if s.Running != nil && (s.Running.Scope != name || s.Running.Rule != rule || !s.Running.Due.Equal(due(1))) {
						t.Errorf("scope %s: the firing that runs is %+v", name, s.Running)
					}
					known[name] = s.Registered
				})
			}
		}
		all.Wait()
		equal(t, scopes, len(known))
		equal(t, start, known["7"])
	}},
	{"firings that are skipped at once are recorded once each, and never run", func(t *testing.T, f *fixture) {
		const scopes = 40
		for i := range scopes {
			_, err := f.Register(t.Context(), rule, fmt.Sprint(i), 0, start)
			noError(t, err)
		}
		running, err := f.Claim(t.Context(), rule, "0", 0, due(2), "a", lease)
		noError(t, err)
		nodes := map[string]ledger.Ledger{"a": f.Ledger, "b": f.other(t)}
		var records atomic.Int64
		for n := 1; n <= 2; n++ {
			var all sync.WaitGroup
			for node, l := range nodes {
				for i := range scopes {
					all.Go(func() {
						recorded, err := l.Skip(t.Context(), rule, fmt.Sprint(i), 0, due(n), node, "overlap")
						if err != nil {
							t.Errorf("scope %d: %v", i, err)
						}
						if recorded {
							records.Add(1)
						}
					})
				}
				all.Go(func() {
					if _, err := l.Skip(t.Context(), rule, "none", 0, due(n), node, "overlap"); !errors.Is(err, ledger.ErrNotFound) {
						t.Errorf("a scope that nobody knows: %v", err)
					}
				})
			}
			all.Wait()
		}
		equal(t, int64(2*scopes-1), records.Load()) // the second firing of one scope was running
		_, err = f.Commit(t.Context(), running, commitOf(running))
		noError(t, err)
		runs, err := f.Runs(t.Context(), rule, nil, 1000)
		noError(t, err)
		skipped := map[string]int{}
		for _, r := range runs {
			if r.Outcome == ledger.OutcomeSkipped {
				skipped[r.Scope]++
			}
		}
		for i := range scopes {
			name := fmt.Sprint(i)
			want := 2
			if name == running.Scope { // the second firing was running
				want = 1
			}
			if skipped[name] != want {
				t.Errorf("%d firings of scope %s are recorded as skipped, want %d", skipped[name], name, want)
			}
			_, err := f.Claim(t.Context(), rule, name, 0, due(2), "b", lease)
			isError(t, ledger.ErrDone, err)
		}
	}},
	{"firings that are claimed and committed at once run once each", func(t *testing.T, f *fixture) {
		const scopes, rounds = 40, 5
		for i := range scopes {
			_, err := f.Register(t.Context(), rule, fmt.Sprint(i), 0, start)
			noError(t, err)
		}
		nodes := map[string]ledger.Ledger{"a": f.Ledger, "b": f.other(t)}
		for n := 1; n <= rounds; n++ {
			var mu sync.Mutex
			ran := map[string]int{}
			var all sync.WaitGroup
			for node, l := range nodes {
				for i := range scopes {
					all.Go(func() {
						c, err := l.Claim(t.Context(), rule, fmt.Sprint(i), 0, due(n), node, lease)
						if errors.Is(err, ledger.ErrBusy) || errors.Is(err, ledger.ErrDone) {
							return
						}
						if err == nil {
							_, err = l.Commit(t.Context(), c, commitOf(c))
						}
						mu.Lock()
						defer mu.Unlock()
						if err != nil || !c.Due.Equal(due(n)) {
							t.Errorf("scope %d: %+v, %v", i, c, err)
						}
						ran[c.Scope]++
					})
				}
			}
			all.Wait()
			for i := range scopes {
				if ran[fmt.Sprint(i)] != 1 {
					t.Errorf("round %d: scope %d ran %d times", n, i, ran[fmt.Sprint(i)])
				}
			}
		}
		runs, err := f.Runs(t.Context(), rule, nil, 1000)
		noError(t, err)
		equal(t, scopes*rounds, len(runs))
	}},
}

// quietReadTests are about the records of runs that change nothing, as readers see them.
var quietReadTests = []testCase{
	{"runs that change nothing keep their due times, starts, durations and counts", func(t *testing.T, f *fixture) {
		f.register(t)
		var want []ledger.Run
		for n := 1; n <= 150; n++ {
			c := f.claim(t, n)
			run := commitOf(c)
			run.Run.Rows, run.Run.Matched = 7+n/70, n/90
			run.Run.Started, run.Run.Duration = c.Due.Add(time.Duration(n%3-1)*1234*time.Microsecond), time.Duration(n)*time.Millisecond
			if n == 20 { // this run changes something
				run.Findings = []ledger.FindingChange{{State: finding.State{Key: "k1", Phase: finding.Pending, Priority: 3, Episode: due(20)}, Op: ledger.Insert}}
			}
			if n == 40 {
				run.Run.Outcome, run.Run.Error = ledger.OutcomeFailed, "probe_failed: no"
				run.Scope.LastOKDue = due(39)
			}
			_, err := f.Commit(t.Context(), c, run)
			noError(t, err)
			want = append(want, run.Run)
		}
		slices.Reverse(want)
		got, err := f.Runs(t.Context(), rule, nil, 1000)
		noError(t, err)
		equal(t, want, got)
		for _, limit := range []int{1, 61, 120} {
			got, err = f.Runs(t.Context(), rule, nil, limit)
			noError(t, err)
			equal(t, want[:limit], got)
		}
		for _, span := range [][2]int{{1, 150}, {5, 6}, {30, 75}, {61, 62}, {149, 150}, {20, 20}} { // due(n) is want[150-n]
			got, err = f.RunsDue(t.Context(), rule, nil, due(span[0]), due(span[1]), 1000)
			noError(t, err)
			equal(t, want[150-span[1]+1:150-span[0]+1], got)
			got, err = f.RunsDue(t.Context(), rule, nil, time.Time{}, due(span[1]), 3)
			noError(t, err)
			equal(t, want[150-span[1]+1:min(150-span[1]+4, 150)], got)
		}
		last, err := f.LastRuns(t.Context())
		noError(t, err)
		equal(t, want[:1], last)
		for _, run := range want {
			at, err := f.RunAt(t.Context(), rule, scope, run.Started)
			noError(t, err)
			equal(t, run, at)
		}
		_, err = f.RunAt(t.Context(), rule, scope, want[149].Started.Add(-time.Microsecond))
		isError(t, ledger.ErrNotFound, err)

		sums, err := f.RunSums(t.Context())
		noError(t, err)
		var rows int64
		for _, run := range want {
			rows += int64(run.Rows)
		}
		briefs := make([]ledger.Brief, ledger.LastBriefs)
		for i := range briefs {
			briefs[len(briefs)-1-i] = ledger.Brief{Took: want[i].Duration, Outcome: want[i].Outcome}
		}
		equal(t, []ledger.RunSum{{Rule: rule, Scope: scope, Runs: 150, Rows: rows, First: want[149].Due, Last: briefs}}, sums)

		for f.prune(t, 30) > 0 { // a record stays as long as one of its runs is kept
		}
		got, err = f.Runs(t.Context(), rule, nil, 1000)
		noError(t, err)
		if len(got) < 30 || len(got) > 100 {
			t.Errorf("%d runs are kept of those that are to be 30 at least", len(got))
		}
		equal(t, want[:len(got)], got)
	}},
}

func (f *base) prune(t testing.TB, keepRuns int) int64 {
	t.Helper()
	n, err := f.Prune(t.Context(), start, keepRuns)
	noError(t, err)
	return n
}

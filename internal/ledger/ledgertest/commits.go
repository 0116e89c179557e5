package ledgertest

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/google/go-cmp/cmp"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/row"
)

var commitTests = []testCase{
	{"findings come back as they were written", func(t *testing.T, f *fixture) {
		f.register(t)
		full := finding.State{
			Key: `[119240,"A-01","S1"]`, Phase: finding.Firing, Episode: due(1), SinceClock: 7 * time.Minute, AbsentSince: due(2),
			FiringSince: due(3), Priority: 5, LastNotified: due(4), Ordinal: 9, NoticeID: "n_x", Watched: "bin A", Baseline: true,
		}
		bare := finding.State{Key: `["` + strings.Repeat("long", 5000) + `"]`, Phase: finding.Pending, Episode: due(2)}
		f.commit(t, 1, nil, ledger.FindingChange{State: full, Op: ledger.Insert}, ledger.FindingChange{State: bare, Op: ledger.Insert})
		f.hasFindings(t, full, bare)

		bare.Phase, bare.FiringSince, bare.NoticeID, bare.Watched, bare.Baseline = finding.Firing, due(5), "n_y", "bin B", true
		f.commit(t, 2, nil, ledger.FindingChange{State: full, Op: ledger.Delete}, ledger.FindingChange{State: bare, Op: ledger.Update})
		f.hasFindings(t, bare)
		f.commit(t, 3, nil)
		f.hasFindings(t, bare)
	}},
	{"a commit that contradicts the ledger's findings changes nothing", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, nil, insert("k1")...)
		for i, wrong := range []ledger.FindingChange{
			{State: firing("k1"), Op: ledger.Insert}, {State: firing("k2"), Op: ledger.Update}, {State: firing("k2"), Op: ledger.Delete},
		} {
			c, err := f.Claim(t.Context(), rule, scope, 0, due(2), "a", 0)
			noError(t, err)
			run := commitOf(c)
			run.Findings = append(insert("k3"), wrong)
			run.Notices = to([]ledger.Target{inbox}, newNotice("n_1"))
			if _, err = f.Commit(t.Context(), c, run); err == nil {
				t.Fatalf("case %d was accepted", i)
			}
			f.hasFindings(t, firing("k1"))
			equal(t, 0, len(f.pending(t, inboxLane)))
			s, err := f.Scope(t.Context(), rule, scope)
			noError(t, err)
			equal(t, due(1), s.Done)
		}
	}},
	{"notices come back as they were written", func(t *testing.T, f *fixture) {
		f.register(t)
		n := newNotice("n_1")
		n.Texts = map[string]notice.Text{"zh": {Title: "货位", Body: "补货"}}
		n.Data = append(n.Data, notice.Field{Name: "n", Value: int64(math.MaxInt64)}, notice.Field{Name: "none"})
		f.commit(t, 1, to([]ledger.Target{inbox}, n, newNotice("n_2")))
		got, err := f.Notices(t.Context(), []string{"n_1", "n_2", "n_3"})
		noError(t, err)
		equal(t, map[string]*notice.Notice{"n_1": n, "n_2": newNotice("n_2")}, got)
		got, err = f.Notices(t.Context(), nil)
		noError(t, err)
		equal(t, 0, len(got))
	}},
	{"a lost claim changes nothing", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		c := f.claim(t, 1)
		f.clock.Add(lease)
		b, err := f.other(t).Claim(t.Context(), rule, scope, 0, due(1), "b", lease)
		noError(t, err)
		run := commitOf(c)
		run.Findings, run.Notices = insert("k1"), to([]ledger.Target{inbox}, newNotice("n_1"))
		run.Watermark = []row.Value{row.IntOf(1)}
		_, err = f.Commit(t.Context(), c, run)
		isError(t, ledger.ErrFenced, err)
		f.hasFindings(t)
		equal(t, 0, len(f.pending(t, inboxLane)))
		runs, err := f.Runs(t.Context(), rule, nil, 10)
		noError(t, err)
		equal(t, 0, len(runs))
		s, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, ledger.ScopeState{Registered: start, Running: &b}, s)
	}},
	{"a claim whose lease is over still commits when nobody took it", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 1)
		f.clock.Add(2 * lease)
		_, err := f.Commit(t.Context(), c, commitOf(c))
		noError(t, err)
	}},
	{"a repeated commit is answered as it was and changes nothing", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		c := f.claim(t, 1)
		run := commitOf(c)
		run.Findings, run.Notices = insert("k1"), to([]ledger.Target{inbox, {Sink: "gateway"}}, numbered("n_", 3)...)
		first, err := f.Commit(t.Context(), c, run)
		noError(t, err)
		equal(t, 6, first.Deliveries)
		again, err := f.Commit(t.Context(), c, run)
		noError(t, err)
		equal(t, first, again)
		f.commit(t, 2, nil, ledger.FindingChange{State: firing("k1"), Op: ledger.Delete})
		again, err = f.Commit(t.Context(), c, run)
		noError(t, err)
		equal(t, first, again)
		f.hasFindings(t)
		equal(t, 3, len(f.pending(t, inboxLane)))
		runs, err := f.Runs(t.Context(), rule, nil, 10)
		noError(t, err)
		equal(t, 2, len(runs))
		equal(t, okRun(c), runs[1])

		run.Notices = to([]ledger.Target{inbox}, newNotice("n_else"))
		_, err = f.Commit(t.Context(), c, run)
		isError(t, ledger.ErrFenced, err)
	}},
	{"a firing may be committed in parts", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		c := f.claim(t, 1)
		first := commitOf(c)
		first.Again, first.Watermark = true, []row.Value{row.IntOf(100)}
		first.Run.Outcome, first.Run.Samples = ledger.OutcomeDegraded, []string{"row 7"}
		first.Run.Notices = 2
		first.Notices = to([]ledger.Target{inbox}, numbered("n_a", 2)...)
		one, err := f.Commit(t.Context(), c, first)
		noError(t, err)
		again, err := f.Commit(t.Context(), c, first)
		noError(t, err)
		equal(t, one, again)
		s, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, &c, s.Running)
		equal(t, time.Time{}, s.Done)
		equalWatermark(t, first.Watermark, s.Watermark)
		_, err = f.Claim(t.Context(), rule, scope, 0, due(1), "b", lease)
		isError(t, ledger.ErrBusy, err)

		f.clock.Add(lease) // the node dies; another one continues where it stopped
		b, err := f.other(t).Claim(t.Context(), rule, scope, 0, due(2), "b", lease)
		noError(t, err)
		last := commitOf(b)
		last.Watermark = []row.Value{row.IntOf(150)}
		last.Run.Notices = 2
		last.Notices = to([]ledger.Target{inbox}, newNotice("n_a00001"), newNotice("n_b"))
		_, err = f.Commit(t.Context(), b, last)
		noError(t, err)
		equal(t, []string{"n_a00000", "n_a00001", "n_b"}, ids(f.pending(t, inboxLane)))
		runs, err := f.Runs(t.Context(), rule, nil, 10)
		noError(t, err)
		want := okRun(b)
		want.Outcome, want.Samples = ledger.OutcomeDegraded, []string{"row 7"}
		want.Started, want.Duration = first.Run.Started, 2*want.Duration
		want.Rows, want.Matched, want.Notices = 14, 4, 4
		equal(t, []ledger.Run{want}, runs)
		s, err = f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, due(1), s.Done)
		if s.Running != nil {
			t.Fatal("the claim is still in force")
		}
	}},
	{"a notice that is there is left as it is", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")))
		changed := newNotice("n_1")
		changed.Title = "changed"
		twice := newNotice("n_2")
		done := f.commit(t, 2, to([]ledger.Target{inbox}, changed, twice, twice))
		equal(t, ledger.CommitResult{Deliveries: 1, Lanes: []ledger.Lane{inboxLane}}, done)
		list := f.pending(t, inboxLane)
		equal(t, []string{"n_1", "n_2"}, ids(list))
		equal(t, newNotice("n_1").Title, list[0].Notice.Title)
		done = f.commit(t, 3, to([]ledger.Target{inbox}, changed, twice))
		equal(t, ledger.CommitResult{}, done)
	}},
	{"a failed run keeps its error", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 1)
		run := commitOf(c)
		run.Run.Outcome, run.Run.Error = ledger.OutcomeFailed, "probe_timeout: it took too long"
		run.Run.Pending, run.Run.Firing, run.Run.Errored = 3, 4, 5
		_, err := f.Commit(t.Context(), c, run)
		noError(t, err)
		runs, err := f.Runs(t.Context(), rule, nil, 10)
		noError(t, err)
		equal(t, []ledger.Run{run.Run}, runs)
	}},
	{"a watermark keeps kind and value", func(t *testing.T, f *fixture) {
		f.register(t)
		big, _, err := apd.NewFromString("123456789012345678901234567890.123456789")
		noError(t, err)
		values := []row.Value{
			row.IntOf(math.MaxInt64), row.IntOf(math.MinInt64), row.TextOf("Ä\"\\ \x00 end"), row.DecimalOf(-12345, 4),
			row.BigDecimalOf(big), row.TimeOf(time.Date(2026, 3, 29, 1, 59, 59, 123456789, time.UTC)), row.FloatOf(0.1),
			row.BoolOf(true), row.DateOf(start), row.DurationOf(90 * time.Minute),
			{},
			row.BytesOf("\xff\x00"), row.JSONOf(`{"a": 1}`),
		}
		c := f.claim(t, 1)
		run := commitOf(c)
		run.Watermark = values
		_, err = f.Commit(t.Context(), c, run)
		noError(t, err)
		f.commit(t, 2, nil) // a nil watermark stays unchanged
		s, err := f.other(t).Scope(t.Context(), rule, scope)
		noError(t, err)
		equalWatermark(t, values, s.Watermark)
	}},
	{"20,000 findings go in one commit", func(t *testing.T, f *fixture) {
		const n = 20_000
		f.subscribed(t)
		c := f.claim(t, 1)
		run := commitOf(c)
		for i := range n {
			run.Findings = append(run.Findings, insert(fmt.Sprintf(`["K%05d"]`, i))...)
		}
		run.Notices = to([]ledger.Target{inbox}, numbered("n_", n)...)
		done, err := f.Commit(t.Context(), c, run)
		noError(t, err)
		equal(t, n, done.Deliveries)
		list := f.pending(t, inboxLane)
		equal(t, n, len(list))
		for i, d := range list {
			if d.Notice.ID != run.Notices[i].Notice.ID {
				t.Fatalf("delivery %d is of %s", i, d.Notice.ID)
			}
		}
		for i := range run.Findings {
			run.Findings[i].Op = ledger.Update
			if i%2 == 0 {
				run.Findings[i].Op = ledger.Delete
			}
		}
		f.commit(t, 2, nil, run.Findings...)
		found, err := f.Findings(t.Context(), rule, scope)
		noError(t, err)
		equal(t, n/2, len(found))
	}},
}

// hasFindings compares the open findings, in any order.
func (f *base) hasFindings(t testing.TB, want ...finding.State) {
	t.Helper()
	got, err := f.Findings(t.Context(), rule, scope)
	noError(t, err)
	sort.Slice(got, func(i, j int) bool { return got[i].Key < got[j].Key })
	sort.Slice(want, func(i, j int) bool { return want[i].Key < want[j].Key })
	equal(t, want, got)
	f.hasOpen(t, want)
}

func equalWatermark(t testing.TB, want, got []row.Value) {
	t.Helper()
	same := cmp.Comparer(func(a, b row.Value) bool {
		return a.Kind() == b.Kind() && (row.Equal(a, b) || a.IsNull()) && a.String() == b.String()
	})
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Fatalf("watermark (-want +got):\n%s", diff)
	}
}

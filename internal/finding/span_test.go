package finding_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/finding"
)

// TestForAndKeepFiringForAgainstRuns checks the table of the reference: how many consecutive runs must see a finding
// until it fires, and must miss it until it resolves.
func TestForAndKeepFiringForAgainstRuns(t *testing.T) {
	const m = time.Minute
	for _, c := range []struct {
		interval, span time.Duration
		runs           int
	}{
		{5 * m, 0, 1},
		{5 * m, 1 * m, 2},
		{5 * m, 5 * m, 2},
		{5 * m, 6 * m, 3},
		{5 * m, 10 * m, 3},
		{5 * m, 15 * m, 4},
		{1 * m, 0, 1},
		{1 * m, 1 * m, 2},
		{1 * m, 5 * m, 6},
		{60 * m, 5 * m, 2},
		{60 * m, 60 * m, 2},
		{60 * m, 61 * m, 3},
	} {
		for _, other := range []time.Duration{0, c.interval, 3 * c.interval} {
			w := newSpanWorld(finding.Policy{For: c.span, KeepFiringFor: other, Shortest: c.interval})
			if runs := w.until(t, "a", "fire a1"); runs != c.runs {
				t.Errorf("every %v, for %v, keep_firing_for %v: fires with run %d, want %d", c.interval, c.span, other, runs, c.runs)
			}
			w = newSpanWorld(finding.Policy{For: other, KeepFiringFor: c.span, Shortest: c.interval})
			w.until(t, "a", "fire a1")
			if runs := w.until(t, "", "resolve a1"); runs != c.runs {
				t.Errorf("every %v, for %v, keep_firing_for %v: resolves with run %d without it, want %d", c.interval, other, c.span, runs, c.runs)
			}
		}
	}
}

// spanWorld runs a rule at its shortest interval, or later.
type spanWorld struct {
	*world
	due time.Time
}

func newSpanWorld(p finding.Policy) *spanWorld { return &spanWorld{newWorld(p), start} }

// next makes the next run, later than the interval by late.
func (w *spanWorld) next(seen string, failed bool, late time.Duration) (told string) {
	w.due = w.due.Add(w.policy.Shortest + late)
	_, told = w.run(w.due, parseSeen(seen), failed, false)
	return told
}

// until repeats a run with the same rows until it tells the expected text, and returns the number of runs.
func (w *spanWorld) until(t *testing.T, seen, told string) int {
	t.Helper()
	for runs := 1; runs <= 100; runs++ {
		switch got := w.next(seen, false, 0); got {
		case told:
			return runs
		case "":
		default:
			t.Fatalf("run %d told %q before %q", runs, got, told)
		}
	}
	t.Fatalf("100 runs have not told %q", told)
	return 0
}

// TestKeepFiringForOutlastsMisses checks the promise of the reference about a finding whose row is missing for some
// runs, at any time. With keep_firing_for: 0 the first such run resolves the finding; with n intervals, n of them do
// not.
func TestKeepFiringForOutlastsMisses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.IntRange(1, 90).Draw(t, "interval")) * time.Minute
		late := func() time.Duration {
			return time.Duration(rapid.SampledFrom([]int{0, 0, 1, 7, 480}).Draw(t, "late")) * time.Minute
		}
		intervals := rapid.IntRange(0, 4).Draw(t, "intervals")
		extra := time.Duration(0)
		if intervals > 0 {
			extra = time.Duration(rapid.IntRange(0, 3).Draw(t, "extra")) * interval / 4
		}
		w := newSpanWorld(finding.Policy{KeepFiringFor: time.Duration(intervals)*interval + extra, Shortest: interval})
		if told := w.next("a", false, 0); told != "fire a1" {
			t.Fatal(told)
		}
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			for miss := range intervals {
				if told := w.next("", false, late()); told != "" {
					t.Fatalf("miss %d of %d told %q", miss+1, intervals, told)
				}
			}
			for range rapid.IntRange(0, 3).Draw(t, "failed runs") { // failed runs say nothing about the row
				w.next("", true, late())
			}
			if intervals > 0 || rapid.Bool().Draw(t, "seen again") {
				if told := w.next("a", false, late()); told != "" {
					t.Fatalf("back after %d misses: told %q", intervals, told)
				}
			}
		}
		told := ""
		for range intervals + 2 {
			told += w.next("", false, late())
		}
		if told != "resolve a1" {
			t.Fatalf("gone for good: told %q", told)
		}
		if intervals == 0 {
			w.next("a", false, late())
			if told := w.next("", false, late()); told != "resolve a1" {
				t.Fatalf("keep_firing_for: 0: the first run without it told %q", told)
			}
		}
	})
}

// A finding whose row is missing in exactly one run never resolves if keep_firing_for is at least one interval. This
// holds for any `for`, and however often it happens.
func TestARowThatMissesOneRunGoesOn(t *testing.T) {
	for _, waits := range []time.Duration{0, 5 * time.Minute, 12 * time.Minute} {
		w := newSpanWorld(finding.Policy{For: waits, KeepFiringFor: 5 * time.Minute, Shortest: 5 * time.Minute})
		w.until(t, "a", "fire a1")
		opened := w.states["a"].Episode
		for i := range 20 {
			told := w.next("", false, 0) + w.next("a", false, 0)
			if st := w.states["a"]; told != "" || !st.Episode.Equal(opened) {
				t.Fatalf("for %v, time %d: told %q, finding %s", waits, i, told, fmt.Sprint(st))
			}
		}
	}
}

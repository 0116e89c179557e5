package finding_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/finding"
)

// modelRun is one run in the history that the model keeps as a whole.
type modelRun struct {
	due    time.Time
	failed bool
	noData bool
	seen   []finding.SeenRow
}

// modelFinding is a finding described by its history: since which run, and when and how often it got a notice.
type modelFinding struct {
	first    int // index of the run that saw it first
	firing   bool
	opened   time.Time
	missing  bool
	missed   int // index of the first run without it, while it is missing
	priority int
	watched  string
	told     time.Time
	ordinal  int
	known    bool // first_run: baseline; no notice yet
}

// model judges each run from the whole history, without the bookkeeping of Step.
type model struct {
	policy  finding.Policy
	history []modelRun
	begun   bool // a run has seen the source's rows
	open    map[string]*modelFinding
}

// observed sums the spans between consecutive runs from the one at index first to the latest.
func (m *model) observed(first int) time.Duration {
	var sum time.Duration
	for i := first + 1; i < len(m.history); i++ {
		sum += min(m.history[i].due.Sub(m.history[i-1].due), m.policy.Shortest)
	}
	return sum
}

func (m *model) run(r modelRun) (told []string) {
	m.history = append(m.history, r)
	if r.failed || r.noData && m.policy.KeepLast {
		return nil
	}
	first := m.policy.Baseline && !m.begun
	m.begun = true
	touched := map[string]bool{}
	for _, row := range r.seen {
		if touched[row.Key] {
			continue
		}
		touched[row.Key] = true
		f := m.open[row.Key]
		if row.Errored {
			continue
		}
		if f == nil {
			f = &modelFinding{first: len(m.history) - 1, known: first}
			m.open[row.Key] = f
		}
		f.missing = false
		if why := m.why(f, row, r.due); why != "" {
			f.ordinal++
			f.known = false
			f.told, f.priority, f.watched = r.due, row.Priority, row.Watched
			told = append(told, fmt.Sprintf("%s %s%d", why, row.Key, f.ordinal))
		}
	}
	var gone []string
	for key, f := range m.open {
		if touched[key] {
			continue
		}
		if !f.missing {
			f.missing, f.missed = true, len(m.history)-1
		}
		if !f.firing {
			delete(m.open, key)
		} else if m.observed(f.missed) >= m.policy.KeepFiringFor {
			if !f.known {
				gone = append(gone, fmt.Sprintf("resolve %s%d", key, f.ordinal))
			}
			delete(m.open, key)
		}
	}
	slices.Sort(gone)
	return append(told, gone...)
}

func (m *model) why(f *modelFinding, row finding.SeenRow, due time.Time) string {
	switch {
	case !f.firing && m.observed(f.first) >= m.policy.For:
		f.firing, f.opened = true, due
		if f.known {
			f.priority, f.watched = row.Priority, row.Watched
			return ""
		}
		return "fire"
	case !f.firing:
		return ""
	case row.Priority > f.priority:
		return "rise"
	case row.Watched != f.watched:
		return "differ"
	case m.policy.RepeatInterval > 0 && !f.known && due.Sub(f.told) >= m.policy.RepeatInterval:
		return "remind"
	}
	return ""
}

func TestStepAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Minute
		}
		policy := finding.Policy{
			For: minutes("for", 20), KeepFiringFor: minutes("keep", 20), RepeatInterval: minutes("repeat", 30),
			Shortest: 5 * time.Minute, KeepLast: rapid.Bool().Draw(t, "keep_last"), Baseline: rapid.Bool().Draw(t, "baseline"),
		}
		w := newWorld(policy)
		m := &model{policy: policy, open: map[string]*modelFinding{}}
		due := start
		for i := range rapid.IntRange(1, 30).Draw(t, "runs") {
			due = due.Add(5*time.Minute + time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 7, 360}).Draw(t, "late"))*time.Minute)
			r := modelRun{due: due, failed: rapid.IntRange(0, 5).Draw(t, "fails") == 0, seen: seenGen.Draw(t, "seen")}
			if r.noData = len(r.seen) == 0 && rapid.Bool().Draw(t, "no data"); r.failed {
				r.seen = nil
			}
			want := m.run(r)
			res, got := w.run(r.due, r.seen, r.failed, r.noData)
			if got != strings.Join(want, ",") {
				t.Fatalf("run %d told %q, want %q", i, got, strings.Join(want, ","))
			}
			check(t, w, m, res)
		}
	})
}

var seenGen = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) finding.SeenRow {
	return finding.SeenRow{
		Key:      rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
		Priority: rapid.IntRange(1, 5).Draw(t, "priority"),
		Watched:  "bin " + rapid.SampledFrom([]string{"A", "A", "A", "B"}).Draw(t, "watched"),
		Errored:  rapid.IntRange(0, 6).Draw(t, "errs") == 0,
	}
}), 0, 4)

// check compares the whole state after a run.
func check(t *rapid.T, w *world, m *model, res finding.Result) {
	pending, firing := 0, 0
	for key, f := range m.open {
		st, ok := w.states[key]
		if !ok {
			t.Fatalf("finding %s is lost", key)
		}
		if st.Baseline != f.known {
			t.Fatalf("finding %s is %+v, want %+v", key, st, f)
		}
		if f.firing {
			firing++
			if !st.Episode.Equal(f.opened) || !st.FiringSince.Equal(f.opened) || st.Priority != f.priority || st.Watched != f.watched || st.Ordinal != f.ordinal {
				t.Fatalf("finding %s is %+v, want %+v", key, st, f)
			}
		} else {
			pending++
			if !st.Episode.Equal(m.history[f.first].due) || st.Phase != finding.Pending {
				t.Fatalf("finding %s is %+v, want %+v", key, st, f)
			}
		}
	}
	if len(w.states) != len(m.open) || res.Pending != pending || res.Firing != firing {
		t.Fatalf("%d findings, %d pending, %d firing; want %d, %d, %d", len(w.states), res.Pending, res.Firing, len(m.open), pending, firing)
	}
}

// TestStepChangesEachFindingOnce also checks that Step does not change its arguments, and that the order of the
// states does not matter.
func TestStepChangesEachFindingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := finding.Policy{KeepFiringFor: time.Minute, Shortest: time.Minute}
		w := newWorld(policy)
		w.run(start, seenGen.Draw(t, "before"), false, false)
		states := w.list()
		kept := slices.Clone(states)
		seen := seenGen.Draw(t, "seen")
		res := finding.Step(w.scope, states, seen, false, policy, start.Add(time.Minute))
		if !slices.Equal(states, kept) {
			t.Fatalf("Step changed its argument: %v", states)
		}
		changed := map[string]bool{}
		for _, c := range res.Changes {
			_, known := w.states[c.Key]
			if changed[c.Key] || known == (c.Op == finding.Insert) {
				t.Fatalf("changes %+v", res.Changes)
			}
			changed[c.Key] = true
		}
		slices.Reverse(states)
		again := finding.Step(w.scope, states, seen, false, policy, start.Add(time.Minute))
		if tells(&again) != tells(&res) || !reflect.DeepEqual(again.Changes, res.Changes) {
			t.Fatalf("another order gives %v, not %v", again, res)
		}
	})
}

func BenchmarkStep(b *testing.B) {
	const n = 20_000
	seen := make([]finding.SeenRow, n)
	for i := range seen {
		seen[i] = finding.SeenRow{Key: fmt.Sprintf("[119240,\"A-%05d\",\"S1\"]", i), Priority: 3}
	}
	policy := finding.Policy{KeepFiringFor: time.Minute, Shortest: time.Minute}
	w := newWorld(policy)
	b.Run("20000 new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			finding.Step(w.scope, nil, seen, false, policy, start)
		}
	})
	w.run(start, seen, false, false)
	states := w.list()
	b.Run("20000 ongoing", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			finding.Step(w.scope, states, seen, false, policy, start.Add(time.Minute))
		}
	})
	b.Run("20000 gone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			finding.Step(w.scope, states, nil, false, policy, start.Add(time.Hour))
		}
	})
}

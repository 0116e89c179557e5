package finding_test

import (
	"testing"
	"time"

	"tallyman/internal/finding"
)

// TestWatchedColumns follows a finding whose rule watches columns. It gets another notice when a value differs from
// the last notice.
func TestWatchedColumns(t *testing.T) {
	for _, group := range []string{"", "X"} {
		w := newWorld(finding.Policy{KeepFiringFor: 5 * time.Minute, RepeatInterval: time.Hour, Shortest: 5 * time.Minute})
		due := start
		id := "a"
		counted := ""
		if group != "" {
			id, counted = group, "x1"
		}
		for i, c := range []struct{ watched, want string }{
			{"bin A", "fire " + id + "1" + counted},
			{"bin A", ""},
			{"bin B", "differ " + id + "2" + counted},
			{"bin B", ""},
			{"-", ""}, // absent for one run
			{"bin C", "differ " + id + "3" + counted},
			{"!", ""}, // its row cannot be judged
			{"bin C", ""},
			{"bin,zone C1", ""}, // the rule now watches more columns; their present values are no news
			{"bin,zone C2", "differ " + id + "4" + counted},
			{"", ""}, // the rule no longer watches columns
			{"bin D", ""},
			{"bin A", "differ " + id + "5" + counted},
		} {
			var seen []finding.SeenRow
			if c.watched != "-" {
				seen = []finding.SeenRow{{Key: "a", Group: group, Priority: 3, Watched: c.watched, Errored: c.watched == "!"}}
			}
			if _, got := w.run(due, seen, false, false); got != c.want {
				t.Errorf("group %q, run %d, %q: told %q, want %q", group, i, c.watched, got, c.want)
			}
			due = due.Add(5 * time.Minute)
		}
	}
}

// A notice that a silence holds back stays due while the value differs. It is no news any more when the value is as
// in the last notice.
func TestWatchedColumnsThatAreHeldBack(t *testing.T) {
	w := newWorld(finding.Policy{Shortest: 5 * time.Minute})
	row := func(watched string) finding.SeenRow { return finding.SeenRow{Key: "a", Priority: 3, Watched: watched} }
	w.run(start, []finding.SeenRow{row("bin A")}, false, false)
	held := func(minute int, watched string) (kind finding.Kind) {
		run := finding.Begin(w.scope, w.list(), w.policy, start.Add(time.Duration(minute)*time.Minute))
		v := run.Look(row(watched))
		run.Hold(v, "s_1")
		w.apply(run.Finish(false))
		return v.Kind
	}
	if kind := held(5, "bin B"); kind != finding.Differ || w.states["a"].Watched != "bin A" || w.states["a"].Silenced != "s_1" {
		t.Errorf("kind %d, %+v", kind, w.states["a"])
	}
	if _, got := w.run(start.Add(10*time.Minute), []finding.SeenRow{row("bin A")}, false, false); got != "" || w.states["a"].Silenced != "" {
		t.Errorf("back as it was told: %q, %+v", got, w.states["a"])
	}
	held(15, "bin B")
	if _, got := w.run(start.Add(20*time.Minute), []finding.SeenRow{row("bin B")}, false, false); got != "differ a2" {
		t.Errorf("after the silence: %q", got)
	}
}

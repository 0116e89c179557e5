package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/trial/rewind"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
)

var operator = ledger.Author{By: "user:ann", Via: ledger.ViaNone}

// forecast says what follows a rewind to that position.
func (w *world) forecast(term ledger.Term, to ...string) *rewind.Move {
	w.t.Helper()
	m, err := rewind.Open(w.t.Context(), rewind.Request{
		Rule: w.rules[0], Source: w.source, Types: catalog.Catalog{repNotice.Code: repNotice}, Ledger: w.ledger, Term: term, To: to, Now: time.Now(),
	})
	if err == nil {
		err = m.Count(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// rewinds moves the watermark of the first rule on the node, lets the next firing run, and holds the notices that
// follow against the forecast. It returns their keys.
func (w *world) rewinds(n node, term ledger.Term, to ...string) string {
	w.t.Helper()
	m := w.forecast(term, to...)
	if m.Counts.Error != "" || m.Counts.More {
		w.t.Errorf("forecast %+v", m.Counts)
	}
	before := len(w.notices())
	if _, err := n.Rewind(w.t.Context(), operator, w.rules[0], m.After, "they were missed"); err != nil {
		w.t.Fatal(err)
	}
	pass(3 * time.Minute)
	list := w.notices()[before:]
	if len(list) != m.Counts.Notices {
		w.t.Errorf("%d notices followed, forecast %+v", len(list), m.Counts)
	}
	var keys []string
	for _, made := range list {
		keys = append(keys, made.Key)
	}
	return strings.Join(keys, " ")
}

// judged is how many rows the last run has judged.
func (w *world) judged() int {
	runs := w.ledger.Runs()
	return runs[len(runs)-1].Rows
}

// A row with a far number came in by mistake, and rows that come later are left out. A rewind has them judged.
func TestRewindBackTellsWhatWasMissed(t *testing.T) {
	for _, back := range []*rules.LookBack{nil, {}} {
		inNumberedWorld(t, func(w *world, n *numbers) {
			w.rules[0].Probe.Watermark.LookBack = back
			a, b := w.start(w.options("a")), w.start(w.options("b"))
			n.commit(1, 2, 3, 1001)
			pass(m + 10*time.Second)
			pass(10 * m) // what was seen then is not looked for any more
			n.commit(5, 7)
			pass(2 * m)
			if got := w.keys(); got != "[1] [3] [1001]" {
				t.Fatalf("told %s", got)
			}
			if got := w.rewinds(b, ledger.Term{}, "3"); got != "[5] [7]" {
				t.Errorf("the rewind has told %s", got)
			}
			n.commit(1003)
			pass(2 * m)
			if got := w.rewinds(a, ledger.Term{}, "1"); got != "" {
				t.Errorf("what was told is told again: %s", got)
			}
			if got := w.keys(); got != "[1] [3] [1001] [5] [7] [1003]" {
				t.Errorf("told %s", got)
			}
		})
	}
}

// The rows that a rule remembers for its look-back are judged again, and those at or below the new position are not.
func TestRewindForgetsTheMemory(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		node := w.start(w.options("a"))
		n.commit(1, 2, 3, 4, 5, 6)
		pass(m + 10*time.Second) // all are remembered
		counts := w.forecast(ledger.Term{}, "3").Counts
		if counts != (rewind.Counts{Rows: 3, Matched: 1, Told: 1}) {
			t.Errorf("forecast %+v", counts)
		}
		r := w.rules[0]
		before, err := node.Rewind(w.t.Context(), operator, r, w.forecast(ledger.Term{}, "3").After, "")
		if err != nil || before[0].Int() != 6 {
			t.Fatalf("%v, %v", before, err)
		}
		pass(m)
		if got := w.judged(); got != 3 || n.last() != 3 {
			t.Errorf("%d rows were judged above %d", got, n.last())
		}
		n.commit(9)
		pass(m)
		n.commit(7) // it has committed late
		pass(m)
		if got := w.keys(); got != "[1] [3] [5] [9] [7]" {
			t.Errorf("told %s", got)
		}
	})
}

func TestRewindForwardSkipsRows(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		node := w.start(w.options("a"))
		n.commit(1)
		pass(m + 10*time.Second)
		n.commit(3, 5, 7, 9)
		if got := w.rewinds(node, ledger.Term{}, "7"); got != "[9]" {
			t.Errorf("told %s", got)
		}
		n.commit(6, 11) // 6 lies in what was skipped
		pass(2 * m)
		if got := w.keys(); got != "[1] [9] [11]" {
			t.Errorf("told %s", got)
		}
	})
}

// A watermark does not move while a firing runs, on whichever node, and a later firing begins at the new position.
func TestRewindWaitsForNoFiring(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		a, b := w.start(w.options("a")), w.start(w.options("b"))
		n.commit(1, 3)
		refused := 0
		n.whenScanned(func(scan int) {
			if scan > 2 {
				return
			}
			for _, node := range []node{a, b} {
				_, err := node.Rewind(w.t.Context(), operator, w.rules[0], []row.Value{row.IntOf(100)}, "")
				if errors.Is(err, engine.ErrRunning) && errors.Is(node.Running(w.t.Context(), w.rules[0]), engine.ErrRunning) {
					refused++
				}
			}
		})
		pass(2*m + 10*time.Second)
		if refused != 4 || w.keys() != "[1] [3]" {
			t.Errorf("%d were refused, told %s", refused, w.keys())
		}
		if err := a.Running(w.t.Context(), w.rules[0]); err != nil {
			t.Error(err)
		}
		n.commit(5, 101)
		if got := w.rewinds(a, ledger.Term{}, "100"); got != "[101]" {
			t.Errorf("told %s", got)
		}
	})
}

// Rows that were told one by one, and now are more than the rule's limit, are not told in a digest.
func TestRewindTellsNoDigestOfWhatWasTold(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		w.rules[0].Limit.Notices = 3
		node := w.start(w.options("a"))
		for i := range int64(10) {
			n.commit(2*i + 1)
			pass(m)
		}
		pass(10 * time.Second)
		if got := len(w.notices()); got != 10 {
			t.Fatalf("%d notices", got)
		}
		counts := w.forecast(ledger.Term{}, "0").Counts
		if counts != (rewind.Counts{Rows: 10, Matched: 10, Told: 10}) {
			t.Errorf("forecast %+v", counts)
		}
		n.commit(12, 21, 23, 25, 27, 29)
		if got := w.rewinds(node, ledger.Term{}, "0"); strings.Count(got, "[") != 4 || !strings.Contains(got, "digest") {
			t.Errorf("told %s", got)
		}
		last := w.notices()[len(w.notices())-1]
		if last.Count != 2 {
			t.Errorf("the digest tells of %d rows", last.Count)
		}
	})
}

// A rewind of a large table takes several passes, and is told as it was forecast.
func TestRewindInPasses(t *testing.T) {
	for _, limit := range []int{0, 2} {
		inNumberedWorld(t, func(w *world, n *numbers) {
			w.rules[0].Probe.MaxRows, w.rules[0].Limit.Notices = 10, limit
			node := w.start(w.options("a"))
			n.commit(1001)
			pass(m + 10*time.Second)
			pass(10 * m)
			for id := range int64(35) {
				n.commit(2*id + 1)
			}
			told := strings.Fields(w.rewinds(node, ledger.Term{}, "0"))
			if limit == 0 && len(told) != 35 {
				t.Errorf("told %s", told)
			}
		})
	}
}

func TestRewindOfSeveralColumns(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		at := midnight.Add(time.Minute)
		n.table = []need{{1, "A", 1, at}, {2, "B", 1, at}, {3, "C", 0, at}, {4, "D", 1, midnight.Add(time.Hour)}}
		node := w.start(w.options("a"))
		pass(time.Hour + 3*m)
		if got := w.keys(); got != "[1] [2] [4]" {
			t.Fatalf("told %s", got)
		}
		n.table = append(n.table, need{5, "E", 1, at})
		if got := w.rewinds(node, ledger.Term{}, "2000-01-01T00:01:00Z,3"); got != "[5]" {
			t.Errorf("told %s", got)
		}
		if m := w.forecast(ledger.Term{}, "-30m", "0"); !m.After[0].Time().Equal(time.Now().Add(-30*time.Minute)) || m.Counts.Rows != 1 {
			t.Errorf("%v %+v", m.After, m.Counts)
		}
	})
}

// The ids of notices contain the clock term, so an event of an earlier term gets another notice. The forecast says so.
func TestRewindInAnotherClockTerm(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		c := &turningClock{ended: make(chan struct{})}
		o := w.options("a")
		o.Clock, o.Terms = c, c
		node := w.start(o)
		n.commit(1, 3)
		pass(m + 10*time.Second)
		c.turn(10 * m)
		term, _ := c.Term()
		if got := w.rewinds(node, term, "0"); got != "[1] [3]" {
			t.Errorf("told %s", got)
		}
	})
}

// A rule that has not run yet begins at the position. With first_run: baseline its first run sends no notices, as the
// forecast says.
func TestRewindBeforeTheFirstRun(t *testing.T) {
	for _, first := range []rules.FirstRun{rules.FirstRunNotify, rules.FirstRunBaseline} {
		inNumberedWorld(t, func(w *world, n *numbers) {
			w.rules[0].FirstRun = first
			node := w.start(w.options("a"))
			n.commit(1, 3, 5)
			pass(time.Second)
			want := map[rules.FirstRun]string{rules.FirstRunNotify: "[3] [5]", rules.FirstRunBaseline: ""}[first]
			if got := w.rewinds(node, ledger.Term{}, "2"); got != want {
				t.Errorf("%s: told %s", first, got)
			}
			if state, err := node.State(w.t.Context(), w.rules[0]); err != nil || state.Initial != w.rules[0].Probe.Watermark.InitialText() {
				t.Errorf("%+v, %v", state, err)
			}
		})
	}
}

// Rewinds that cannot be counted: the rule would fail, or has no watermark.
func TestRewindThatFails(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		w.rules[0].Probe.MaxRows = 2
		w.rules[0].Probe.Watermark.LookBack = &rules.LookBack{}
		w.start(w.options("a"))
		n.commit(1, 2, 3, 4)
		pass(m + 10*time.Second)
		n.ids = []int64{4, 3, 2, 1}
		if got := w.forecast(ledger.Term{}, "0").Counts.Error; !strings.HasPrefix(got, "watermark_") {
			t.Errorf("forecast %q", got)
		}
		w.rules[0].Probe.Watermark = nil
		_, err := rewind.Open(w.t.Context(), rewind.Request{Rule: w.rules[0]})
		if !errors.Is(err, rewind.ErrNoWatermark) {
			t.Error(err)
		}
	})
}

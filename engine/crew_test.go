package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// changed is the rule with another meaning.
func changed(r *rules.Rule, change func(*rules.Rule)) *rules.Rule {
	other := *r
	other.Checksum = r.Checksum + "'"
	change(&other)
	return &other
}

func (w *world) replace(n node, complete bool, list ...*rules.Rule) {
	w.t.Helper()
	if err := n.Replace(list, complete); err != nil {
		w.t.Fatal(err)
	}
}

func TestReplaceTakesAChangedRuleIn(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * time.Minute)
		stricter := changed(w.rules[0], func(r *rules.Rule) { r.When = "qty < -5" })
		w.replace(n, true, stricter)
		pass(5 * time.Minute)
		w.hasRun("the changed rule", 5, 10)
		if got := w.told(); len(got) != 2 || got[1] != "resolved Resolved: Bin A-01 is at -3" {
			t.Errorf("its state was kept by its id: %v", got)
		}
		w.replace(n, true, changed(stricter, func(r *rules.Rule) { r.Schedule.Cron, r.Schedule.CatchUp = "* * * * *", rules.CatchUpAll }))
		pass(61 * time.Second)
		w.hasRun("another schedule has missed nothing", 5, 10, 12)
	})
}

// The second change comes before the first firing of the new schedule. Firings that were never due do not become due.
func TestReplaceTwiceBeforeAFiring(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		pass(7*time.Minute + 30*time.Second)
		often := changed(w.rules[0], func(r *rules.Rule) { r.Schedule.Cron, r.Schedule.CatchUp = "* * * * *", rules.CatchUpAll })
		w.replace(n, true, often)
		pass(10 * time.Second)
		w.replace(n, true, changed(often, func(r *rules.Rule) { r.When = "qty < -5" }))
		pass(61 * time.Second)
		w.hasRun("another schedule, and then another condition", 5, 8)
	})
}

// A rule that means the same goes on untouched: its run goes on, and its source prepares nothing.
func TestReplaceLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Checksum = "1"
		n := w.start(w.options("a"))
		pass(6 * time.Minute)
		prepared := w.source.Prepares()
		same := *w.rules[0]
		same.File = "moved.yaml"
		w.replace(n, true, &same)
		pass(5 * time.Minute)
		w.hasRun("moved", 5, 10)
		if again := w.source.Prepares(); again != prepared {
			t.Errorf("prepared %d times, before %d", again, prepared)
		}
		list, err := n.Scopes(w.t.Context(), same.ID)
		if err != nil || list[0].Rule.File != "moved.yaml" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// The old version finishes its run before the new one begins.
func TestReplaceWaitsForTheRun(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Probe.Timeout = time.Hour
		w.set(stock("A-01", -3))
		slow(w, 7*time.Minute)
		n := w.start(w.options("a"))
		pass(6 * time.Minute)
		last := w.rules[0]
		for _, title := range []string{"B", "C"} {
			last = changed(last, func(r *rules.Rule) { r.Notice.Title = map[string]string{"": title} })
			w.replace(n, true, last)
			pass(time.Minute)
		}
		pass(8 * time.Minute)
		w.hasRun("the run of 5 ended at 12", 5)
		if got := w.told(); !slices.Equal(got, []string{"firing Bin A-01 is at -3"}) {
			t.Errorf("told in the old words: %v", got)
		}
		pass(10 * time.Minute)
		w.hasRun("that of 10 was skipped, as overlap says", 5, 15)
	})
}

// A removed rule ends. Its findings are closed once every node has the new files, and only if the set is complete.
func TestReplaceRemoves(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		o := w.options("a")
		o.Complete = true
		a := w.start(o)
		o.Node, o.Session = "b", w.session("b")
		b := w.start(o)
		pass(6 * time.Minute)
		w.replace(a, false)
		w.replace(b, false)
		pass(time.Minute)
		if len(w.ledger.Known()) == 0 {
			t.Error("an incomplete set closes findings")
		}
		w.replace(a, true)
		pass(time.Minute)
		if len(w.ledger.Known()) == 0 {
			t.Error("the findings were closed while node b may run the rule")
		}
		w.replace(b, true)
		pass(29 * time.Second)
		if len(w.ledger.Known()) == 0 {
			t.Error("the findings were closed at once")
		}
		pass(10 * time.Second)
		if forgotten := w.ledger.Known(); forgotten == nil || len(forgotten) != 0 {
			t.Errorf("forgotten but for %v", forgotten)
		}
		pass(20 * time.Minute)
		w.hasRun("it has ended", 5)
	})
}

func TestReplaceRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		for _, bad := range []*rules.Rule{
			changed(w.rules[0], func(r *rules.Rule) { r.Source = "nowhere" }),
			changed(w.rules[0], func(r *rules.Rule) { r.Schedule.Cron = "never" }),
			changed(w.rules[0], func(r *rules.Rule) { r.Enabled, r.Probe.SQL = false, "SELECT ':" }),
		} {
			if err := n.Replace([]*rules.Rule{bad}, true); err == nil {
				t.Errorf("%+v was taken in", bad)
			}
		}
		pass(6 * time.Minute)
		w.hasRun("as before", 5)
	})
}

// A rule that comes back before its state was closed keeps its state: it has moved to another file, or its file was
// only half written.
func TestReplaceBringsARuleBack(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * time.Minute)
		w.replace(n, true)
		pass(29 * time.Second)
		w.replace(n, true, w.rules[0])
		pass(5 * time.Minute)
		w.hasRun("but for half a minute", 5, 10)
		w.replace(n, true)
		pass(31 * time.Second)
		w.replace(n, true, w.rules[0])
		pass(5 * time.Minute)
		w.hasRun("again", 5, 10, 15)
		if got := w.told(); !slices.Equal(got, []string{
			"firing Bin A-01 is at -3", "resolved Resolved, rule removed: Bin A-01 is at -3", "firing Bin A-01 is at -3",
		}) {
			t.Errorf("told once in each life of the rule: %v", got)
		}
	})
}

// The ledger shows at once which rules a node has read, even when the set is incomplete.
func TestReplaceIsTold(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		pass(time.Second)
		for _, complete := range []bool{false, true} {
			w.replace(n, complete, changed(w.rules[0], func(*rules.Rule) {}))
			pass(time.Millisecond)
			nodes, err := w.ledger.Nodes(t.Context())
			if err != nil || len(nodes) != 1 || nodes[0].Rules != n.Version() {
				t.Errorf("complete %v: %+v, %v, want version %s", complete, nodes, err, n.Version())
			}
		}
	})
}

// leftOut returns the skipped runs.
func (w *world) leftOut() (list []string) {
	for _, run := range w.ledger.Runs() {
		if run.Outcome == ledger.OutcomeSkipped {
			list = append(list, run.Due.Format("15:04 ")+run.Error)
		}
	}
	return list
}

// A rule that its file enables again goes on like a rule that an operator enables.
func TestReplaceEnables(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Schedule.CatchUp = rules.CatchUpAll
		n := w.start(w.options("a"))
		pass(6 * time.Minute)
		disabled := changed(w.rules[0], func(r *rules.Rule) { r.Enabled = false })
		w.replace(n, true, disabled)
		pass(20 * time.Minute)
		w.replace(n, true, w.rules[0])
		pass(5 * time.Minute)
		w.hasRun("disabled from 6 to 26", 5, 30)
		w.replace(n, true, disabled)
		pass(5 * time.Minute)
		w.replace(n, true, w.rules[0])
		w.replace(n, true, disabled)
		pass(4*time.Minute + 5*time.Second)
		w.replace(n, true, w.rules[0])
		pass(5 * time.Minute)
		w.hasRun("disabled from 31 to 36, and to 5 s after 40", 5, 30, 45)
		want := []string{
			"00:25 disabled: 4 firings came due while the rule was disabled",
			"00:35 disabled: a firing came due while the rule was disabled",
		}
		if got := w.leftOut(); !slices.Equal(got, want) { // that of 40 may be another node's
			t.Errorf("left out %q", got)
		}
	})
}

// A node takes a rule up while another node still runs a firing of the rule. The node leaves that firing alone and
// records the firings that were due meanwhile.
func TestReplaceEnablesWhileAnotherNodeRuns(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Probe.Timeout = time.Hour
		w.set(stock("A-01", -3))
		slow(w, 7*time.Minute)
		w.start(w.options("a"))
		pass(5*time.Minute + time.Second) // a runs until 12
		o := w.options("b")
		o.Rules = []*rules.Rule{changed(w.rules[0], func(r *rules.Rule) { r.Enabled = false })}
		b := w.start(o)
		pass(5*time.Minute + 30*time.Second)
		w.replace(b, true, w.rules[0])
		pass(2 * time.Minute)
		w.hasRun("as before", 5)
		if got := w.leftOut(); len(got) != 1 || got[0] != "00:10 disabled: a firing came due while the rule was disabled" || len(w.told()) != 1 {
			t.Errorf("left out %q, told %q", got, w.told())
		}
	})
}

// Only one node has the rule. No other node takes up its firings, not even abandoned ones.
func TestRuleOfOneNode(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.source.Rows = func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
			return nil, enginetest.Sleep(ctx, time.Hour)
		}
		w.rules[0].Probe.Timeout = time.Hour
		a := w.start(w.options("a"))
		other := w.options("b")
		other.Rules = nil
		w.start(other)
		pass(6 * time.Minute)
		a.stop() // it gives the firing of 5 back
		w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) { return nil, nil }
		pass(10 * time.Minute)
		w.hasRun("nobody has the rule")
		w.start(w.options("c"))
		pass(time.Minute)
		w.hasRun("the firing that was left, and the last that was missed", 5, 15)
	})
}

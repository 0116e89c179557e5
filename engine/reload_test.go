package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

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

// A rule that means the same is not touched: its run goes on, and its source is not asked to prepare anything.
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
		w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) {
			time.Sleep(7 * time.Minute) //nolint:forbidigo // the bubble's clock
			return [][]row.Value{stock("A-01", -3)}, nil
		}
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

// A removed rule ends; its findings are closed once every node has the new files, and only by a complete set.
func TestReplaceRemoves(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		o := w.options("a")
		o.Complete = true
		a := w.start(o)
		o.Node = "b"
		b := w.start(o)
		pass(6 * time.Minute)
		w.replace(a, false)
		w.replace(b, false)
		pass(time.Minute)
		if len(w.ledger.Forgotten()) == 0 {
			t.Error("an incomplete set closes findings")
		}
		w.replace(a, true)
		pass(time.Minute)
		if len(w.ledger.Forgotten()) == 0 {
			t.Error("the findings were closed while node b may run the rule")
		}
		w.replace(b, true)
		pass(10 * time.Second)
		if forgotten := w.ledger.Forgotten(); forgotten == nil || len(forgotten) != 0 {
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

// A rule that its file enables again goes on as one that an operator enables.
func TestReplaceEnables(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Schedule.CatchUp = rules.CatchUpAll
		n := w.start(w.options("a"))
		pass(6 * time.Minute)
		w.replace(n, true, changed(w.rules[0], func(r *rules.Rule) { r.Enabled = false }))
		pass(20 * time.Minute)
		w.replace(n, true, w.rules[0])
		pass(5 * time.Minute)
		w.hasRun("disabled from 6 to 26", 5, 30)
	})
}

package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/rules"
)

var (
	ann = ledger.Author{By: "user:ann", Via: ledger.ViaToken("t_1")}
	off = ledger.Switch{State: ledger.SwitchOff, Reason: "stocktake", By: ann.By}
	on  = ledger.Switch{State: ledger.SwitchOn, By: ann.By}
	out = ledger.Switch{State: ledger.SwitchCleared, By: ann.By}
)

func (w *world) turn(n node, scope *string, s ledger.Switch) engine.RuleStatus {
	w.t.Helper()
	list, err := n.Turn(w.t.Context(), ann, "negative-bin-stock", scope, s)
	if err != nil || len(list) == 0 {
		w.t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

// ran returns the minutes of the runs that were not skipped.
func (w *world) ran() (list []int) {
	for _, run := range w.ledger.Runs() {
		if run.Outcome != ledger.OutcomeSkipped {
			list = append(list, run.Due.Hour()*60+run.Due.Minute())
		}
	}
	return list
}

func (w *world) hasRun(what string, want ...int) {
	w.t.Helper()
	if got := w.ran(); !slices.Equal(got, want) {
		w.t.Errorf("%s: it ran in the minutes %v, want %v", what, got, want)
	}
}

func TestDisabledInTheMiddleOfASchedule(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Schedule.CatchUp = rules.CatchUpAll
		n := w.start(w.options("a"))
		pass(6 * time.Minute)
		st := w.turn(n, nil, off)
		if st.Enabled || st.Switch == nil || st.Switch.Reason != "stocktake" || !st.NextDue.IsZero() {
			t.Errorf("%+v", st)
		}
		pass(20 * time.Minute)
		w.hasRun("disabled", 5)
		if st := w.turn(n, nil, on); !st.Enabled {
			t.Errorf("%+v", st)
		}
		pass(5 * time.Minute)
		w.hasRun("what was missed is not caught up", 5, 30)
		runs := w.ledger.Runs()
		if skipped := runs[1]; skipped.Outcome != ledger.OutcomeSkipped || skipped.Due.Minute() != 25 || skipped.Error != "disabled: 4 firings came due while the rule was disabled" {
			t.Errorf("%+v", skipped)
		}
	})
}

// While a rule is disabled nothing resolves, and neither for nor keep_firing_for grows.
func TestDisablingFreezesFindings(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].For, w.rules[0].KeepFiringFor = 10*time.Minute, 10*time.Minute
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(16 * time.Minute) // 5, 10, 15: it fires
		w.set(stock("B-02", -1))
		pass(5 * time.Minute) // 20: A is missed since 15, B is pending
		w.turn(n, nil, off)
		pass(2 * time.Hour)
		w.turn(n, nil, on)
		if want := []string{"firing Bin A-01 is at -3"}; !slices.Equal(w.told(), want) {
			t.Errorf("while it was disabled: %v", w.told())
		}
		pass(4 * time.Minute) // 2:25: A has been away for 5 minutes that count, B is there for 5
		w.hasRun("after", 5, 10, 15, 20, 145)
		if got := w.told(); len(got) != 1 {
			t.Errorf("the first run: %v", got)
		}
		pass(5 * time.Minute)
		told := w.told()
		slices.Sort(told[1:])
		if want := []string{"firing Bin A-01 is at -3", "firing Bin B-02 is at -1", "resolved Resolved: Bin A-01 is at -3"}; !slices.Equal(told, want) {
			t.Errorf("the run after it: %v", told)
		}
	})
}

// A finding that is gone when its rule runs again is kept for the whole keep_firing_for.
func TestWhatVanishedWhileDisabledIsKept(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].KeepFiringFor = 10 * time.Minute
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * time.Minute)
		w.turn(n, nil, off)
		w.set()
		pass(time.Hour)
		w.turn(n, nil, on)
		pass(9 * time.Minute) // 1:10 is the first without it, then 1:15
		if got := w.told(); len(got) != 1 {
			t.Fatalf("%v", got)
		}
		pass(5 * time.Minute)
		if got := w.told(); len(got) != 2 {
			t.Fatalf("%v", got)
		}
		w.hasRun("so far", 5, 70, 75, 80)
	})
}

func TestSwitchEndsByItself(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		nodes := []node{w.start(w.options("a")), w.start(w.options("b"))}
		pass(time.Minute)
		until := off
		until.Until = time.Now().Add(20 * time.Minute)
		w.turn(nodes[0], nil, until)
		if err := nodes[1].ReadSwitches(w.t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Minute)
		w.hasRun("until minute 21", 25, 30)
		for _, n := range nodes {
			if list, err := n.Scopes(w.t.Context(), "negative-bin-stock"); err != nil || !list[0].Enabled || list[0].Switch != nil || list[0].NextDue.IsZero() {
				t.Errorf("%+v, %v", list, err)
			}
		}
		until.Until = time.Now()
		if _, err := nodes[0].Turn(w.t.Context(), ann, "negative-bin-stock", nil, until); !errors.Is(err, engine.ErrUntilPast) {
			t.Errorf("until now: %v", err)
		}
	})
}

// A switch of one scope ends by itself on every node, on the ledger's clock. Firings of that scope that were due
// meanwhile are skipped. Other scopes go on.
func TestSwitchOfOneScopeEndsByItself(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		other := *w.rules[0]
		other.Scope = "119241"
		w.rules[0].Schedule.CatchUp, other.Schedule.CatchUp = rules.CatchUpAll, rules.CatchUpAll
		w.rules = append(w.rules, &other)
		nodes := []node{w.start(w.options("a")), w.start(w.options("b"))}
		pass(time.Minute)
		until, scope := off, "119240"
		until.Until = time.Now().Add(20 * time.Minute) // 21
		w.turn(nodes[0], &scope, until)
		if err := nodes[1].ReadSwitches(w.t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Minute)
		ran := map[string][]int{}
		for _, run := range w.ledger.Runs() {
			if run.Outcome != ledger.OutcomeSkipped {
				ran[run.Scope] = append(ran[run.Scope], run.Due.Minute())
			} else if run.Error != "disabled: 4 firings came due while the rule was disabled" || run.Scope != scope {
				t.Errorf("skipped: %+v", run)
			}
		}
		if !slices.Equal(ran["119240"], []int{25, 30}) || !slices.Equal(ran["119241"], []int{5, 10, 15, 20, 25, 30}) {
			t.Errorf("it ran in the minutes %v", ran)
		}
		for _, n := range nodes {
			if list := n.Switches(); len(list) != 0 {
				t.Errorf("in force after its end: %+v", list)
			}
		}
	})
}

// A switch ended while no node was running. Firings missed before its end are skipped; later ones are not.
func TestSwitchThatEndedWhileNobodyRan(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Schedule.CatchUp = rules.CatchUpAll
		n := w.start(w.options("a"))
		pass(6 * time.Minute)
		until := off
		until.Until = time.Now().Add(20 * time.Minute) // 26
		w.turn(n, nil, until)
		n.stop()
		pass(32 * time.Minute) // 38
		o := w.options("a")
		e, err := engine.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.ReadSwitches(w.t.Context()); err != nil {
			t.Fatal(err)
		}
		w.run(e, o)
		pass(time.Second)
		w.hasRun("after the restart", 5, 30, 35)
	})
}

func TestStrengthOfSwitches(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		other := *w.rules[0]
		other.Scope, other.Enabled = "119241", false
		w.rules = append(w.rules, &other)
		n := w.start(w.options("a"))
		states := func() (list []bool) {
			scopes, err := n.Scopes(w.t.Context(), "negative-bin-stock")
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range scopes {
				list = append(list, s.Enabled)
			}
			return list
		}
		one := "119240"
		for _, c := range []struct {
			what  string
			do    func()
			first bool
			other bool
		}{
			{"the file", func() {}, true, false},
			{"the whole rule on", func() { w.turn(n, nil, on) }, true, true},
			{"the whole rule off", func() { w.turn(n, nil, off) }, false, false},
			{"a scope's own wins", func() { w.turn(n, &one, on) }, true, false},
			{"paused", func() { w.pause(n, off) }, false, false},
			{"switched while paused", func() { w.turn(n, nil, on) }, false, false},
			{"resumed", func() { w.pause(n, out) }, true, true},
			{"the scope's own cleared", func() { w.turn(n, &one, off); w.turn(n, &one, out) }, true, true},
			{"cleared", func() { w.turn(n, nil, out) }, true, false},
		} {
			c.do()
			if got := states(); got[0] != c.first || got[1] != c.other {
				t.Errorf("%s: %v", c.what, got)
			}
		}
		pass(6 * time.Minute)
		w.hasRun("at last", 5)
	})
}

func TestTurnRefuses(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		var unknown *engine.UnknownError
		scope := "119299"
		if _, err := n.Turn(w.t.Context(), ann, "negative-bin-stock", &scope, off); !errors.As(err, &unknown) || unknown.What != "scope" {
			t.Errorf("%v", err)
		}
		if _, err := n.Turn(w.t.Context(), ann, "negative-bin-stok", nil, out); !errors.As(err, &unknown) || unknown.What != "rule" {
			t.Errorf("%v", err)
		}
		w.turn(n, nil, off)
		if err := n.Replace(nil, false); err != nil {
			t.Fatal(err)
		}
		if list, err := n.Turn(w.t.Context(), ann, "negative-bin-stock", nil, out); err != nil || len(list) != 0 || len(n.Switches()) != 0 {
			t.Errorf("of a rule that is gone: %v, %v, %v", list, err, n.Switches())
		}
	})
}

// A run that has begun when its rule is disabled goes on to its commit.
func TestRunInFlightFinishes(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.set(stock("A-01", -3))
		slow(w, 2*time.Minute)
		w.rules[0].Probe.Timeout = time.Hour
		n := w.start(w.options("a"))
		pass(6 * time.Minute)
		w.turn(n, nil, off)
		pass(time.Hour)
		w.hasRun("begun at 5, disabled at 6", 5)
		if len(w.told()) != 1 {
			t.Errorf("%v", w.told())
		}
	})
}

func (w *world) pause(n node, s ledger.Switch) {
	w.t.Helper()
	if err := n.Pause(w.t.Context(), ann, s); err != nil {
		w.t.Fatal(err)
	}
}

package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

var switchTests = []testCase{
	{"a switch is set, replaced and cleared, and each change is counted", func(t *testing.T, f *fixture) {
		before := f.number(t, "switches")
		off := ledger.Switch{Rule: rule, Scope: scope, State: ledger.SwitchOff, Until: start.Add(time.Hour), At: start, Reason: "stocktake", By: "user:ann"}
		all := ledger.Switch{Rule: ledger.Every, Scope: ledger.Every, State: ledger.SwitchOff, At: start, By: "user:bo"}
		noError(t, f.SetSwitch(t.Context(), author(off.By), off))
		noError(t, f.SetSwitch(t.Context(), author(all.By), all))
		f.hasSwitches(t, all, off)
		off = ledger.Switch{Rule: rule, Scope: scope, State: ledger.SwitchCleared, At: start.Add(time.Minute), By: "user:bo"}
		noError(t, f.SetSwitch(t.Context(), author(off.By), off))
		f.hasSwitches(t, all, off)
		equal(t, before+3, f.number(t, "switches"))
	}},
	{"a switch outlives its rule", func(t *testing.T, f *fixture) {
		f.register(t)
		off := ledger.Switch{Rule: rule, Scope: scope, State: ledger.SwitchOff, At: start, By: "user:ann"}
		noError(t, f.SetSwitch(t.Context(), author(off.By), off))
		_, err := f.Forget(t.Context(), map[string]bool{})
		noError(t, err)
		f.hasSwitches(t, off)
	}},
	{"after a thaw no time has passed for what is absent", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 5)
		present, absent := firing(`["A"]`), firing(`["B"]`)
		absent.AbsentSince = c.Due.Add(-4 * time.Minute)
		run := commitOf(c)
		run.Scope = finding.Scope{LastDue: c.Due, LastOKDue: c.Due, Clock: time.Minute}
		run.Findings = []ledger.FindingChange{{State: present, Op: ledger.Insert}, {State: absent, Op: ledger.Insert}}
		_, err := f.Commit(t.Context(), c, run)
		noError(t, err)

		thawed := c.Due.Add(time.Hour)
		for range 2 { // the second time changes nothing
			noError(t, f.other(t).Thaw(t.Context(), rule, scope, thawed, "b", "disabled"))
		}
		absent.AbsentSince = thawed.Add(-4 * time.Minute)
		f.hasFindings(t, present, absent)
		state, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, thawed, state.Done)
		equal(t, finding.Scope{LastDue: c.Due, LastOKDue: c.Due, Thawed: thawed, Clock: time.Minute}, state.Scope)
		runs, err := f.Runs(t.Context(), rule, nil, 1)
		noError(t, err)
		equal(t, ledger.OutcomeSkipped, runs[0].Outcome)
		equal(t, "disabled", runs[0].Error)

		again := thawed.Add(2 * time.Minute) // no run came between two thaws
		noError(t, f.Thaw(t.Context(), rule, scope, again, "a", "disabled"))
		absent.AbsentSince = again.Add(-4 * time.Minute)
		f.hasFindings(t, present, absent)
		noError(t, f.Thaw(t.Context(), rule, scope, thawed, "a", "disabled"))
		f.hasFindings(t, present, absent)
	}},
	{"a thaw leaves alone what runs, and what is not known", func(t *testing.T, f *fixture) {
		isError(t, ledger.ErrNotFound, f.Thaw(t.Context(), rule, scope, start, "a", "disabled"))
		f.register(t)
		c := f.claim(t, 5)
		noError(t, f.Thaw(t.Context(), rule, scope, c.Due, "b", "disabled"))
		state, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, time.Time{}, state.Done)
		equal(t, time.Time{}, state.Thawed)
	}},
	{"nodes come, are seen, leave, and are gone after a minute of silence", func(t *testing.T, f *fixture) {
		one := ledger.Node{Name: "one", Version: "1.2", Rules: "abc", Started: start.Add(-time.Hour), Seen: start}
		two := ledger.Node{Name: "two", Version: "1.3", Rules: "def", Started: start, Seen: start}
		noError(t, f.SeeNode(t.Context(), two))
		noError(t, f.SeeNode(t.Context(), one))
		f.hasNodes(t, one, two)
		f.clock.Add(40 * time.Second)
		one.Rules, one.Seen = "def", start.Add(40*time.Second)
		noError(t, f.SeeNode(t.Context(), one))
		f.hasNodes(t, one, two)
		f.clock.Add(21 * time.Second)
		f.hasNodes(t, one)
		noError(t, f.LeaveNode(t.Context(), "one"))
		noError(t, f.LeaveNode(t.Context(), "one"))
		f.hasNodes(t)
	}},
}

// hasSwitches checks all of them, as another node reads them.
func (f *fixture) hasSwitches(t testing.TB, want ...ledger.Switch) {
	t.Helper()
	got, err := f.other(t).Switches(t.Context())
	noError(t, err)
	equal(t, want, got)
}

func (f *fixture) hasNodes(t testing.TB, want ...ledger.Node) {
	t.Helper()
	got, err := f.other(t).Nodes(t.Context())
	noError(t, err)
	equal(t, want, got)
}

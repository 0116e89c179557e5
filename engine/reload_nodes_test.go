package engine_test

import (
	"context"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// A node that takes a rule up while another still runs a firing of it leaves that alone, and records what came due beside it.
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

// A rule that one node alone has is that node's: no other takes its firings up, be they abandoned.
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

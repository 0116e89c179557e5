package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine/why"
	"tallyman/internal/finding"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// The first run that sees the source's rows takes them as known, even when another node repeats it, or runs before have
// failed.
func TestBaseline(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].FirstRun, w.rules[0].Notice.Priority = rules.FirstRunBaseline, "qty < -50 ? 5 : 3"
		var fault cell[error]
		fault.set(errors.New("no route"))
		rowsOf, good := rowsOr(w, &fault), 0
		w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
			rows, err := rowsOf(ctx, req)
			if err != nil {
				return nil, err
			}
			if good++; good == 1 { // another node takes the firing, and dies
				w.ledger.Steal("negative-bin-stock", "119240", "dead", 10*time.Second)
			}
			return rows, nil
		}
		w.set(stock("A-01", -3), stock("A-02", -3))
		n := w.start(w.options("a"))
		pass(6 * m)
		if y := w.why(t, n, "A-01"); y.LastRun == nil || y.LastRun.Outcome != "failed" {
			t.Fatalf("%+v", y.LastRun)
		}
		fault.set(nil)
		pass(5 * m)
		n.stop()
		n = w.start(w.options("b"))
		pass(5 * m)
		if told := w.told(); len(told) != 0 {
			t.Fatalf("told %q", told)
		}
		y := w.why(t, n, "A-01")
		if y.Finding == nil || y.Finding.Phase != finding.Firing || !y.Finding.Baseline || heldBy(y) != "baseline" || y.Next != nil {
			t.Errorf("%+v, held by %s, next %+v", y.Finding, heldBy(y), y.Next)
		}
		if text := y.Reasons[0].Text; !strings.HasSuffix(text, "(first_run: baseline): a notice is made when its priority rises above 3") {
			t.Errorf("%q", text)
		}
		if good < 2 {
			t.Errorf("%d scans", good)
		}
		w.set(stock("A-01", -3), stock("A-02", -99), stock("A-03", -1))
		pass(5 * m)
		got := w.told()
		slices.Sort(got)
		if want := []string{"firing Bin A-02 is at -99", "firing Bin A-03 is at -1"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		w.set()
		pass(5 * m)
		got = w.told()[2:]
		slices.Sort(got)
		if want := []string{"resolved Resolved: Bin A-02 is at -99", "resolved Resolved: Bin A-03 is at -1"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// A rule that has run before keeps its findings and notices. A new rule says before its first run what that run will
// do.
func TestBaselineIsOfTheFirstRunAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		pass(6 * m)
		w.set(stock("A-01", -3))
		w.replace(n, true, changed(w.rules[0], func(r *rules.Rule) { r.FirstRun = rules.FirstRunBaseline }))
		pass(5 * m)
		if got := w.told(); len(got) != 1 {
			t.Errorf("told %q", got)
		}
	})
	inWorld(t, func(w *world) {
		w.rules[0].FirstRun, w.rules[0].Schedule.Cron = rules.FirstRunBaseline, "0 * * * *"
		w.set(stock("A-01", -3))
		n := w.start(w.options("a"))
		pass(6 * m)
		y := w.why(t, n, "A-01")
		if heldBy(y) != "not_run" || y.Next != nil || !strings.Contains(y.Reasons[0].Text, "first_run: baseline") {
			t.Errorf("%+v, next %+v", y.Reasons, y.Next)
		}
	})
}

// A finding that waits for `for` at the first run fires without a notice, and why says so.
func TestBaselineThatPends(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].FirstRun, w.rules[0].For = rules.FirstRunBaseline, 10*m
		w.set(stock("A-01", -3))
		n := w.start(w.options("a"))
		pass(6 * m)
		if y := w.why(t, n, "A-01"); y.Finding.Phase != finding.Pending || heldBy(y) != "baseline" || y.Next != nil {
			t.Errorf("%+v, next %+v", y.Reasons, y.Next)
		}
		pass(10 * m)
		if y := w.why(t, n, "A-01"); y.Finding.Phase != finding.Firing || len(w.told()) != 0 {
			t.Errorf("%+v, told %q", y.Finding, w.told())
		}
		w.set()
		w.isNext(t, w.why(t, n, "A-01"), why.NextResolves, 20*m)
		pass(5 * m)
		if got := w.told(); len(got) != 0 {
			t.Errorf("told %q", got)
		}
	})
}

// The first firing of mode event moves the watermark over all rows, in all of its passes, even when a node dies between
// two passes.
func TestBaselineOfEvents(t *testing.T) {
	t.Parallel()
	inEventWorld(t, func(w *world, n *needs) {
		w.rules[0].Probe.MaxRows, w.rules[0].FirstRun = 10, rules.FirstRunBaseline
		for i := range 35 {
			n.table = append(n.table, need{int64(i), fmt.Sprintf("A-%02d", i), 1, midnight})
		}
		w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
			rows, err := n.scan(ctx, req)
			if len(n.scans) == 3 {
				w.ledger.Steal("replenish-pick-face", "119240", "dead", 10*time.Second)
			}
			return rows, err
		}
		w.start(w.options("a"))
		pass(2*m + 30*time.Second)
		if got := w.told(); len(got) != 0 || len(n.scans) != 5 {
			t.Errorf("told %q in %d scans", got, len(n.scans))
		}
		n.change(func() { n.table = append(n.table, need{99, "B-01", 4, midnight.Add(90 * time.Second)}) })
		pass(4 * m)
		if got := w.told(); !slices.Equal(got, []string{"event Replenish B-01: 4"}) {
			t.Errorf("told %q", got)
		}
	})
}

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/scanners"
)

var errAway = &scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("connection refused")}

// No data is a finding of its own: it waits for `for`, reminds, and resolves. Meanwhile the findings of rows stay as
// they were.
func TestNoDataAlert(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	r := manyBins()
	r.Notice.Warehouse, r.NoData, r.For, r.RepeatInterval = "", rules.PolicyAlert, 5*time.Minute, 20*time.Minute
	try := binTrial(t, r, &bins, &fault)
	due := atEight.Add(-5 * time.Minute)
	step := func(counts string, want ...string) *ledger.Commit {
		t.Helper()
		due = due.Add(5 * time.Minute)
		c := runTrial(t, try, due)
		same(t, toldBy(c), want)
		if got := fmt.Sprintf("%d/%d", c.Run.Pending, c.Run.Firing); got != counts {
			t.Errorf("at %s: pending/firing %s, want %s", due, got, counts)
		}
		return c
	}
	step("1/0")
	step("0/1", "firing 119240 Bin A is at -1")
	bins = nil
	step("1/1")
	c := step("0/2", "firing 119240 No data: negative-bin-stock")
	n := c.Notices[0].Notice
	if n.Type != "TALLYMAN_NO_DATA" || n.TypeID != 2_000_000_001 || n.Key != `"no_data"` || n.Priority != 4 || n.Modal != "popup" || n.Count != 1 ||
		fmt.Sprint(n.Data) != "[{rule negative-bin-stock} {scope 119240} {since 2026-06-01T08:05:00Z}]" || n.Texts["zh"].Title != "无数据：negative-bin-stock" {
		t.Errorf("%+v", n)
	}
	fault = errAway
	step("0/2") // a failed run leaves it as it was
	fault = nil
	step("0/2")
	bins = []bin{{wh: "W1", code: "B", qty: 3}}
	step("0/0", "resolved 119240 Resolved: Bin A is at -1", "resolved 119240 Resolved: No data: negative-bin-stock")
	bins = nil
	step("1/0")
	bins = []bin{{wh: "W1", code: "B", qty: 3}}
	step("0/0")
}

func TestFailureAlert(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	r := grouped(manyBins())
	r.Notice.Warehouse, r.OnError, r.KeepFiringFor, r.RepeatInterval, r.Limit.Notices = `"W9"`, rules.PolicyAlert, 10*time.Minute, 10*time.Minute, 1
	r.GroupBy = []string{"wh"}
	try := binTrial(t, r, &bins, &fault)
	same(t, toldBy(runTrial(t, try, atEight)), []string{"firing W9 1 bins in W1"})
	fault = errAway
	c := runTrial(t, try, atEight.Add(5*time.Minute))
	same(t, toldBy(c), []string{"firing W9 Rule fails: negative-bin-stock"})
	if n := c.Notices[0].Notice; n.Key != `"on_error"` || c.Run.Outcome != ledger.OutcomeFailed || c.Run.Firing != 2 || c.Run.Notices != 1 ||
		fmt.Sprint(n.Data) != "[{code source_unreachable} {error connection refused} {rule negative-bin-stock} {scope 119240} {since 2026-06-01T08:00:00Z}]" {
		t.Errorf("%+v, %+v", n, c.Run)
	}
	same(t, toldBy(runTrial(t, try, atEight.Add(10*time.Minute))), nil)
	same(t, toldBy(runTrial(t, try, atEight.Add(15*time.Minute))), []string{"firing W9 Rule fails: negative-bin-stock"})
	fault = nil
	same(t, toldBy(runTrial(t, try, atEight.Add(20*time.Minute))), []string{"firing W9 1 bins in W1"}) // reminds; keep_firing_for holds the alert
	same(t, toldBy(runTrial(t, try, atEight.Add(25*time.Minute))), nil)
	same(t, toldBy(runTrial(t, try, atEight.Add(30*time.Minute))), []string{"firing W9 1 bins in W1", "resolved W9 Resolved: Rule fails: negative-bin-stock"})
}

// The alert's finding ends when the rule does not ask for the alert any more.
func TestAlertThatIsNotAskedForAnyMore(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		fault := &cell[error]{}
		w.source.Rows = rowsOr(w, fault)
		fault.set(errAway)
		r := w.rules[0]
		r.OnError = rules.PolicyAlert
		w.set(stock("A-01", 3))
		n := w.start(w.options("a"))
		pass(6 * m)
		n.stop()
		same(t, w.told(), []string{"firing Rule fails: negative-bin-stock"})
		r.OnError = rules.PolicyKeepLast
		w.start(w.options("a"))
		pass(5 * m)
		same(t, w.told(), []string{"firing Rule fails: negative-bin-stock", "resolved Resolved: Rule fails: negative-bin-stock"})
	})
}

func TestEventRuleTellsOfItsFailures(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		fault := &cell[error]{}
		fault.set(errAway)
		r := w.rules[0]
		r.OnError = rules.PolicyAlert
		scan := n.scan
		w.source.Break(fault.get())
		w.source.Rows = scan
		n.change(func() { n.table = append(n.table, need{1, "A-1", 5, midnight.Add(-time.Minute)}) })
		w.start(w.options("a"))
		pass(5 * m)
		same(t, w.told(), []string{"firing Rule fails: replenish-pick-face"})
		w.source.Break(nil)
		pass(4 * m)
		same(t, w.told(), []string{"firing Rule fails: replenish-pick-face", "event Replenish A-1: 5"})
		if runs := w.ledger.Runs(); runs[len(runs)-1].Firing != 0 {
			t.Errorf("%+v", runs[len(runs)-1])
		}
	})
}

func TestRefusedRecordIsTold(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].OnError = rules.PolicyAlert
		w.set(stock("A-01", -3))
		refusals := &cell[int]{}
		w.ledger.Fail = func(method string) error {
			if method != "Commit" || refusals.get() >= 5 {
				return nil
			}
			refusals.set(refusals.get() + 1)
			return errors.New("no such thing")
		}
		w.start(w.options("a"))
		pass(9 * m)
		if run := w.ledger.Runs()[0]; run.Outcome != ledger.OutcomeFailed || !strings.HasPrefix(run.Error, "commit_refused: ") || run.Notices != 1 {
			t.Errorf("%+v", run)
		}
		same(t, w.told(), []string{"firing Rule fails: negative-bin-stock"})
		pass(5 * m)
		same(t, w.told()[1:], []string{"firing Bin A-01 is at -3", "resolved Resolved: Rule fails: negative-bin-stock"})
	})
}

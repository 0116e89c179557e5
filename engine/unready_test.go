package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/scanners"
)

// The source is out of reach from the start. The rule's runs fail at their due times, and one alert says why.
func TestUnverifiedRuleTellsOfItsFailures(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].OnError = rules.PolicyAlert
		w.source.Break(errAway)
		w.set(stock("A-01", -3))
		n := w.start(w.options("a"))
		w.start(w.options("b"))
		pass(4 * m)
		if len(w.ledger.Runs()) != 0 {
			t.Errorf("it runs before it is due: %+v", w.ledger.Runs())
		}
		pass(12 * m) // 5, 10 and 15 minutes past, and the moment that a due firing waits
		same(t, w.told(), []string{"firing Rule fails: negative-bin-stock"})
		runs := w.ledger.Runs()
		for i, run := range runs {
			if run.Outcome != ledger.OutcomeFailed || run.Error != "source_unreachable: connection refused" || run.Firing != 1 || !run.Due.Equal(midnight.Add(time.Duration(i+1)*5*m)) {
				t.Errorf("%+v", run)
			}
		}
		if s := status(t, n); len(runs) != 3 || s.Verified || s.Reason != "source_unreachable: connection refused" {
			t.Errorf("%d runs, %+v", len(runs), s)
		}
		w.source.Break(nil)
		pass(2 * m)
		if s := status(t, n); !s.Verified {
			t.Errorf("it is checked at due times only: %+v", s)
		}
		pass(3 * m)
		same(t, w.told()[1:], []string{"firing Bin A-01 is at -3", "resolved Resolved: Rule fails: negative-bin-stock"})
	})
}

// A source that comes back in the moment after the due time costs nothing.
func TestUnverifiedRuleWaitsAMoment(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].OnError = rules.PolicyAlert
		w.source.Break(errAway)
		w.set(stock("A-01", -3))
		w.start(w.options("a"))
		pass(5*m + 20*time.Second)
		w.source.Break(nil)
		pass(m)
		same(t, w.told(), []string{"firing Bin A-01 is at -3"})
		if run := w.ledger.Runs()[0]; run.Outcome != ledger.OutcomeOK || !run.Due.Equal(midnight.Add(5*m)) {
			t.Errorf("%+v", run)
		}
	})
}

// One node does not reach the source: the other one runs the rule.
func TestVerifiedNodesComeFirst(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].OnError = rules.PolicyAlert
		w.set(stock("A-01", -3))
		o := w.options("cut-off")
		away := &enginetest.Source{}
		away.Break(errAway)
		o.Sources = map[string]scanners.Source{"wms": away}
		w.start(o)
		w.start(w.options("fine"))
		pass(62 * m)
		same(t, w.told(), []string{"firing Bin A-01 is at -3"})
		for _, run := range w.ledger.Runs() {
			if run.Outcome != ledger.OutcomeOK || run.Node != "fine" {
				t.Errorf("%+v", run)
			}
		}
		if len(w.ledger.Runs()) != 12 {
			t.Errorf("%d runs", len(w.ledger.Runs()))
		}
	})
}

// A rule that the columns do not fit is told of, too; one whose types the ledger does not give out waits for the
// ledger.
func TestWhyAnUnverifiedRuleFails(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].OnError = rules.PolicyAlert
		w.rules[0].When = "qtty < 0"
		down := &cell[error]{}
		down.set(errors.New("no ledger"))
		w.ledger.Fail = func(method string) error {
			if strings.HasPrefix(method, "Types") {
				return down.get()
			}
			return nil
		}
		w.start(w.options("a"))
		pass(20 * m)
		if len(w.ledger.Runs()) != 0 {
			t.Errorf("%+v", w.ledger.Runs())
		}
		down.set(nil)
		pass(6 * m)
		run := w.ledger.Runs()[0]
		if run.Outcome != ledger.OutcomeFailed || !strings.Contains(run.Error, "expr_unknown_name") || len(w.told()) != 1 {
			t.Errorf("%+v, %q", run, w.told())
		}
		if n := w.notices()[0]; n.Data[0].Value != "expr_unknown_name" {
			t.Errorf("%+v", n.Data)
		}
	})
}

// Firings that were missed fail one after the other, and those that are left are made good when the source is back.
func TestUnverifiedRuleCatchesUp(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.rules[0]
		r.OnError, r.Schedule.CatchUp = rules.PolicyAlert, rules.CatchUpAll
		w.set(stock("A-01", -3))
		n := w.start(w.options("a"))
		pass(6 * m)
		n.stop()
		pass(60 * m)
		w.source.Break(errAway)
		w.start(w.options("a"))
		pass(3*m + 30*time.Second)
		w.source.Break(nil)
		pass(3 * m)
		count := map[ledger.Outcome]int{}
		for i, run := range w.ledger.Runs() {
			count[run.Outcome]++
			if !run.Due.Equal(midnight.Add(time.Duration(i+1) * 5 * m)) {
				t.Errorf("run %d: %+v", i, run)
			}
		}
		if count[ledger.OutcomeFailed] == 0 || count[ledger.OutcomeFailed] > 4 || count[ledger.OutcomeOK] < 9 {
			t.Errorf("%v", count)
		}
	})
}

// A rule of mode event that was never verified has no watermark to begin with when it tells of its failed run.
func TestUnverifiedEventsTellOfFailedRuns(t *testing.T) {
	inWorld(t, func(w *world) {
		r := negativeStock()
		r.Mode, r.OnError, r.NoData, r.Notice.SendResolved = rules.ModeEvent, rules.PolicyAlert, "", false
		r.Probe.SQL = "SELECT bin_code, qty FROM bin_stock WHERE qty < :wm_qty"
		r.Probe.Watermark = &rules.Watermark{Columns: []string{"qty"}, Initial: map[string]any{"qty": int64(0)}}
		w.rules = []*rules.Rule{r}
		w.source.Break(&scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("no route")})
		w.start(w.options("a"))
		pass(12 * m)
		if got := w.outcomes(); len(got) != 2 || got[0] != ledger.OutcomeFailed {
			t.Errorf("outcomes %v", got)
		}
	})
}

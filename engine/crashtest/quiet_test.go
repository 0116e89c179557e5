package crashtest

import (
	"strconv"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// TestKilledWhileRunsShareStatements kills a process that claims and commits firings of many scopes together, which
// find nothing, with a scan for each scope and with one for all. Each firing is run once: each second has a run or is
// among those that were skipped, and none has two.
func TestKilledWhileRunsShareStatements(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for _, step := range []string{engine.StepClaimed, engine.StepScanned, engine.StepCommitted} {
		t.Run(split+"/"+step, func(t *testing.T) { survivesWide(t, "postgres", split, step) })
	}
	for i, step := range []string{engine.StepClaimed, engine.StepCommitting, engine.StepCommitting + " 1ms", engine.StepCommitting + " 1010ms", engine.StepCommitted} {
		kind := "postgres"
		if i == 1 {
			kind = "sqlite" // where nothing is shared
		}
		t.Run(kind+"/"+step, func(t *testing.T) { survivesWide(t, kind, wide, step) })
	}
}

func survivesWide(t *testing.T, kind, rule, step string) {
	t.Helper()
	t.Parallel()
	h := newHarness(t, kind, rule)
	for range 3 {
		h.killedAt(step)
	}
	h.exec("INSERT INTO bin_stock VALUES (1, 'A-01', -1)")
	h.untilIs(func() bool {
		return len(h.distinct()) == wideScopes && read(h.folder, sentFile) == strconv.Itoa(wideScopes)
	})
	h.withLedger(func(l ledger.Ledger) { h.checkWide(l) })
}

func (h *harness) checkWide(l ledger.Ledger) {
	h.Helper()
	if left, err := l.Abandoned(h.Context()); err != nil || len(left) > 0 {
		h.Errorf("firings are left: %v, %v", left, err)
	}
	for i := range wideScopes {
		scope := "W" + strconv.Itoa(i)
		runs, err := l.Runs(h.Context(), "bins", &scope, 1000)
		if err != nil || len(runs) == 0 {
			h.Fatalf("%s: %d runs, %v", scope, len(runs), err)
		}
		told := 0
		for k, run := range runs {
			told += run.Notices
			if k == 0 {
				continue
			}
			switch later := runs[k-1].Due.Sub(run.Due); {
			case later <= 0:
				h.Errorf("%s: the run of %v follows that of %v", scope, run.Due, runs[k-1].Due)
			case later > time.Second && runs[k-1].Outcome != ledger.OutcomeSkipped: // an entry stands for all that were skipped
				h.Errorf("%s: no run between %v and %v", scope, run.Due, runs[k-1].Due)
			}
		}
		if told != 1 {
			h.Errorf("%s: the runs made %d notices", scope, told)
		}
	}
}

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// split makes the rule one of these warehouses, each of which has the rows of the world, with one scan for all.
func (w *world) split(warehouses ...string) {
	w.warehouses = warehouses
	w.source.Columns = append(slices.Clone(stockColumns), row.Column{Name: "wh_id", Kind: row.Text})
	w.rules = nil
	for _, warehouse := range warehouses {
		r := negativeStock()
		r.Scope, r.SplitBy, r.Schedule.Cron = warehouse, "wh_id", "* * * * *"
		w.rules = append(w.rules, r)
	}
}

func warehouses(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(119000 + i)
	}
	return list
}

// scans returns the number of scans of the source.
func (w *world) scans() *atomic.Int64 {
	var count atomic.Int64
	answer := w.source.Rows
	w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
		count.Add(1)
		return answer(ctx, req)
	}
	return &count
}

// runsBy returns the outcomes of the runs, keyed by scope.
func (w *world) runsBy() map[string][]ledger.Outcome {
	by := map[string][]ledger.Outcome{}
	for _, run := range w.ledger.Runs() {
		by[run.Scope] = append(by[run.Scope], run.Outcome)
	}
	return by
}

// ranTimes checks that each scope has so many runs, all with the outcome.
func (w *world) ranTimes(times int, outcome ledger.Outcome, scopes ...string) {
	w.t.Helper()
	by := w.runsBy()
	for _, scope := range scopes {
		if got := by[scope]; len(got) != times || slices.ContainsFunc(got, func(o ledger.Outcome) bool { return o != outcome }) {
			w.t.Fatalf("runs of scope %s: %v, want %d times %s", scope, got, times, outcome)
		}
	}
}

// TestOneScanServesManyScopes: 400 scopes ask the source once a minute, however many nodes there are and however few
// workers. Each scope has its own run and gets only its own rows.
func TestOneScanServesManyScopes(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.split(warehouses(400)...)
				scans := w.scans()
				for i := range nodes {
					o := w.options(fmt.Sprint("node-", i))
					o.Workers = 2
					w.start(o)
				}
				w.set(stock("A-01", -1))
				pass(m + 30*time.Second) // nodes that have just come do not know each other
				first := scans.Load()
				pass(5 * m)
				if n := scans.Load() - first; n != 5 || first > int64(nodes) {
					t.Errorf("%d scans in five minutes, %d before", n, first)
				}
				w.ranTimes(6, ledger.OutcomeOK, w.warehouses...)
				for _, warehouse := range w.warehouses {
					if told := w.inbox.Taken(warehouse); len(told) != 1 || told[0].Warehouse != warehouse {
						t.Fatalf("%s is told %v", warehouse, told)
					}
				}
			})
		})
	}
}

// TestAScopeThatDoesNotRunLeavesTheScanToTheOthers: one scope is disabled, the claim of one fails once, and an operator
// runs one.
func TestAScopeThatDoesNotRunLeavesTheScanToTheOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.split("a", "b", "c")
		w.rules[1].Enabled = false
		scans := w.scans()
		var failed atomic.Bool
		w.ledger.Fail = func(method string) error {
			if method == "Claim" && !failed.Swap(true) {
				return errChaos
			}
			return nil
		}
		w.set(stock("A-01", -1))
		n := w.start(w.options("a"))
		pass(m + 30*time.Second)
		if scans.Load() != 2 { // that of the scope whose claim has failed
			t.Errorf("%d scans in the first minute", scans.Load())
		}
		pass(m)
		if scans.Load() != 3 {
			t.Errorf("%d scans in two minutes", scans.Load())
		}
		scope := "b"
		w.turn(n, &scope, ledger.Switch{State: ledger.SwitchOff, By: ann.By})
		if _, err := n.RunNow(w.t.Context(), "negative-bin-stock", &scope, func(*engine.RequestedFiring) error { return nil }); err != nil {
			t.Fatal(err)
		}
		pass(time.Second) // the notice is delivered after the run
		if scans.Load() != 4 || len(w.inbox.Taken("b")) != 1 {
			t.Errorf("%d scans, told %v", scans.Load(), w.inbox.Taken("b"))
		}
		w.ranTimes(2, ledger.OutcomeOK, "a", "c")
		w.ranTimes(1, ledger.OutcomeOK, "b")
		for _, run := range w.ledger.Runs() {
			if run.Strays > 0 {
				t.Errorf("rows of a scope that does not run are strays: %+v", run)
			}
		}
	})
}

// TestAFailedScanIsShownByEachScope: the source fails, the code panics, or the probe has more than max_rows rows in all
// scopes together.
func TestAFailedScanIsShownByEachScope(t *testing.T) {
	for want, fault := range map[string]error{
		"probe_timeout": &scanners.Error{Code: scanners.CodeTimeout, Transient: true, Err: errChaos},
		"panic":         errPanic,
		"too_many_rows": nil,
	} {
		t.Run(want, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.split("a", "b", "c")
				for _, r := range w.rules {
					r.Probe.MaxRows = 5
				}
				w.source.Rows = rowsOr(w, &cell[error]{v: fault})
				w.set(stock("A-01", -1), stock("A-02", -1))
				scans := w.scans()
				w.start(w.options("a"))
				pass(m + 30*time.Second)
				if scans.Load() != 1 {
					t.Errorf("%d scans", scans.Load())
				}
				w.ranTimes(1, ledger.OutcomeFailed, "a", "b", "c")
				for _, run := range w.ledger.Runs() {
					if !strings.HasPrefix(run.Error, want) {
						t.Errorf("%s: %s", run.Scope, run.Error)
					}
				}
			})
		})
	}
}

// panicking is a silencer that panics for one warehouse.
type panicking struct{}

func (panicking) Holding(_ time.Time, about *silence.Subject) []silence.Holding {
	if about.Warehouse == "b" {
		panic(errPanic)
	}
	return nil
}

// TestAScopeThatCannotBeJudgedFailsAlone: the other scopes go on with the scan.
func TestAScopeThatCannotBeJudgedFailsAlone(t *testing.T) {
	inWorld(t, func(w *world) {
		w.split("a", "b", "c")
		w.set(stock("A-01", -1), stock("A-02", -1))
		o := w.options("a")
		o.Silencer = panicking{}
		w.start(o)
		pass(m + 30*time.Second)
		w.ranTimes(1, ledger.OutcomeOK, "a", "c")
		w.ranTimes(1, ledger.OutcomeFailed, "b")
	})
}

// TestAScopeWhoseClaimIsLostLeavesTheScan: another node has the claim of a scope. The scan goes on for the other
// scopes, and ends when no scope waits for it.
func TestAScopeWhoseClaimIsLostLeavesTheScan(t *testing.T) {
	inWorld(t, func(w *world) {
		w.split("a", "b")
		var canceled atomic.Int64
		w.source.Rows = func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
			err := enginetest.Sleep(ctx, 40*time.Second)
			if err != nil {
				canceled.Add(1)
			}
			return w.current(), err
		}
		w.set(stock("A-01", -1))
		w.start(w.options("n"))
		pass(m + time.Second)
		w.ledger.Steal("negative-bin-stock", "a", "thief", 2*time.Hour)
		pass(50 * time.Second)
		w.ranTimes(0, ledger.OutcomeOK, "a")
		w.ranTimes(1, ledger.OutcomeOK, "b")
		if canceled.Load() != 0 {
			t.Error("the scan has ended with one who left")
		}
		pass(20 * time.Second) // in the scan of the second minute
		w.ledger.Steal("negative-bin-stock", "b", "thief", 2*time.Hour)
		pass(30 * time.Second)
		if canceled.Load() != 1 {
			t.Errorf("%d scans have ended before their end, and nobody waits for the second", canceled.Load())
		}
	})
}

// TestRowsOfUnknownScopesAreAProblemOfTheRule: one run counts and names such rows and is degraded. The scopes go on.
// Adding the scope ends the problem.
func TestRowsOfUnknownScopesAreAProblemOfTheRule(t *testing.T) {
	inWorld(t, func(w *world) {
		w.split("a", "b", "c")
		known, unknown := w.rules[:2], w.rules[2]
		w.rules = known
		var tidied atomic.Bool
		answer := w.source.Rows
		w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
			rows, err := answer(ctx, req)
			if !tidied.Load() {
				rows = append(rows, []row.Value{row.TextOf("Z-9"), row.IntOf(-1), {}})
			}
			return rows, err
		}
		w.set(stock("A-01", -1), stock("A-02", -1))
		n := w.start(w.options("n"))
		pass(m + 30*time.Second)
		w.ranTimes(1, ledger.OutcomeDegraded, "a")
		w.ranTimes(1, ledger.OutcomeOK, "b")
		if got := w.strays(n); len(got) != 1 || !strings.HasPrefix(got[0], "split_unknown_scope: of 3 rows ") || !strings.Contains(got[0], `"c"`) || !strings.Contains(got[0], `""`) {
			t.Errorf("strays %q", got)
		}
		strays := 0
		for _, run := range w.ledger.Runs() {
			strays += run.Strays
		}
		if strays != 3 {
			t.Errorf("%d strays are counted", strays)
		}
		w.replace(n, true, append(slices.Clone(known), unknown)...)
		pass(m)
		if got := w.strays(n); len(got) != 1 || !strings.HasPrefix(got[0], "split_unknown_scope: of 1 rows ") {
			t.Errorf("strays %q after the scope was added", got)
		}
		tidied.Store(true)
		pass(m)
		if got := w.strays(n); len(got) != 0 {
			t.Errorf("strays %q without strays", got)
		}
	})
}

// strays returns what the last runs report about rows that belong to no scope.
func (w *world) strays(n node) (list []string) {
	w.t.Helper()
	all, err := n.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range all {
		if run := all[i].LastRun; run.Strays > 0 {
			list = append(list, run.Samples[0])
		}
	}
	return list
}

// TestScopesWithOtherQuestionsHaveOtherScans: scopes with the same parameters and schedule make a scan group. A rule
// without split_by scans alone.
func TestScopesWithOtherQuestionsHaveOtherScans(t *testing.T) {
	inWorld(t, func(w *world) {
		w.split("a", "b", "c", "d", "e")
		w.rules[0].Probe.Params = map[string]any{"min": int64(3)}
		w.rules[1].Probe.Params = map[string]any{"min": int64(3)}
		w.rules[4].Schedule.Timezone = "Asia/Shanghai"
		for _, r := range w.rules {
			r.Probe.SQL = "SELECT bin_code, qty, wh_id FROM bin_stock WHERE qty < coalesce(:min, 0)"
			if r.Probe.Params == nil {
				r.Probe.Params = map[string]any{"min": nil}
			}
		}
		scans := w.scans()
		w.set(stock("A-01", -1))
		w.start(w.options("n"))
		pass(m + 30*time.Second)
		if scans.Load() != 3 {
			t.Errorf("%d scans of three groups", scans.Load())
		}
		for _, warehouse := range w.warehouses {
			if len(w.inbox.Taken(warehouse)) != 1 {
				t.Errorf("%s is told %v", warehouse, w.inbox.Taken(warehouse))
			}
		}
	})
}

// TestATrialOfARuleWithSplitByTakesItsRows: a trial of one scope, such as a preview, sees the same rows as a firing.
func TestATrialOfARuleWithSplitByTakesItsRows(t *testing.T) {
	w := newWorld(t)
	w.split("a", "b")
	w.set(stock("A-01", -1), stock("A-02", 1))
	try, err := trial.New(w.rules[0], w.source, catalog.Catalog{repNotice.Code: repNotice}, trial.Start{})
	if err == nil {
		err = try.Verify(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ran, err := try.Run(t.Context(), atEight)
	if err != nil {
		t.Fatal(err)
	}
	if run := ran.Run; run.Rows != 2 || run.Firing != 1 || run.Outcome != ledger.OutcomeOK {
		t.Errorf("%+v", run)
	}
	if len(ran.Rows) != 2 || slices.ContainsFunc(ran.Rows, func(r *row.Row) bool { return r.Values[2].String() != "a" }) {
		t.Errorf("the trial keeps rows of other scopes: %v", ran.Rows)
	}
}

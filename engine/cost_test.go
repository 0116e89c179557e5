package engine_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/scanners"
)

// costed gives the world's rule a max_cost, and a source that explains plans.
func (w *world) costed(limit int) (plan *cell[scanners.Plan], fault *cell[error], asked *atomic.Int64, source scanners.Source) {
	w.rules[0].Probe.MaxCost = limit
	plan, fault, asked = &cell[scanners.Plan]{}, &cell[error]{}, &atomic.Int64{}
	plan.set(scanners.Plan{Cost: 8.5, Shape: "Index Scan bin_stock_pkey"})
	return plan, fault, asked, enginetest.Explainer{Source: w.source, Plan: func(map[string]any) (scanners.Plan, error) {
		asked.Add(1)
		return plan.get(), fault.get()
	}}
}

const day = 24 * time.Hour

// age makes the recorded plan older and lets the nodes read it. Letting days pass in the bubble would take minutes.
func (w *world) age(d time.Duration) {
	w.t.Helper()
	r := w.rules[0]
	p, err := w.ledger.LastPlan(w.t.Context(), r.ID, r.Scope)
	if err != nil {
		w.t.Fatal(err)
	}
	p.Asked = p.Asked.Add(-d)
	if p.Before != nil {
		p.Before.Until = p.Before.Until.Add(-d)
	}
	if err := w.ledger.RecordPlan(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
	pass(11 * m)
}

func TestPlanIsAskedOnceADayInTheWholeCluster(t *testing.T) {
	inWorld(t, func(w *world) {
		_, _, asked, source := w.costed(200)
		node := func(name string) {
			o := w.options(name)
			o.Sources["wms"] = source
			w.start(o)
			pass(time.Second)
		}
		node("a")
		node("b")
		pass(2 * time.Hour)
		w.age(21 * time.Hour)
		node("c")
		pass(10 * m)
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times within a day", n)
		}
		w.age(2 * time.Hour)
		if n := asked.Load(); n < 2 || n > 4 { // nodes may ask at once
			t.Errorf("asked %d times in two days", n)
		}
		w.set(stock("A-01", -3))
		pass(5 * m)
		if len(w.told()) != 1 {
			t.Errorf("told %v", w.told())
		}
	})
}

func TestProbeThatCostsTooMuchDoesNotRun(t *testing.T) {
	inWorld(t, func(w *world) {
		plan, _, asked, source := w.costed(200)
		plan.set(scanners.Plan{Cost: 200.5, Shape: "Seq Scan bin_stock"})
		w.set(stock("A-01", -3))
		o := w.options("a")
		o.Sources["wms"] = source
		n := w.start(o)
		pass(20 * m)
		s := status(t, n)
		want := "probe_cost: the probe's plan costs 200.5 and probe.max_cost is 200 (Seq Scan bin_stock): add an index, narrow the probe, or raise the limit"
		if s.Verified || s.Reason != want || len(w.ledger.Runs()) != 0 {
			t.Errorf("%+v after %d runs", s, len(w.ledger.Runs()))
		}
		if n := asked.Load(); n < 3 || n > 5 {
			t.Errorf("asked %d times in 20 minutes", n)
		}
		plan.set(scanners.Plan{Cost: 200, Shape: "Seq Scan bin_stock"})
		pass(12 * m)
		if s := status(t, n); !s.Verified || len(w.told()) != 1 {
			t.Errorf("%+v, told %v", s, w.told())
		}
		plan.set(scanners.Plan{Cost: 300, Shape: "Seq Scan bin_stock"})
		w.age(day)
		if s := status(t, n); s.Verified || !strings.HasPrefix(s.Reason, "probe_cost: ") {
			t.Errorf("a day later: %+v", s)
		}
	})
}

func TestChangedPlanIsAWarning(t *testing.T) {
	inWorld(t, func(w *world) {
		plan, _, _, source := w.costed(2000)
		o := w.options("a")
		o.Sources["wms"] = source
		n := w.start(o)
		pass(m)
		plan.set(scanners.Plan{Cost: 9, Shape: "Index Scan bin_stock_pkey"})
		w.age(day)
		if s := status(t, n); len(s.Warnings) != 0 {
			t.Fatalf("another cost is no other plan: %v", s.Warnings)
		}
		plan.set(scanners.Plan{Cost: 1234, Shape: "Seq Scan bin_stock"})
		w.age(day)
		other := w.options("b")
		other.Sources["wms"] = source
		for _, n := range []node{n, w.start(other)} { // the other node has never asked
			pass(m)
			s := status(t, n)
			if !s.Verified || len(s.Warnings) != 1 {
				t.Fatalf("%+v", s)
			}
			for _, part := range []string{"plan_changed: since 2000-01-01T", `"Seq Scan bin_stock" (cost 1234)`, `"Index Scan bin_stock_pkey" (cost 9)`} {
				if !strings.Contains(s.Warnings[0], part) {
					t.Errorf("%q has no %q", s.Warnings[0], part)
				}
			}
		}
		w.age(7 * day)
		if s := status(t, n); len(s.Warnings) != 0 {
			t.Errorf("a week later: %v", s.Warnings)
		}
	})
}

func TestEditedProbeIsAskedAnew(t *testing.T) {
	inWorld(t, func(w *world) {
		plan, _, asked, source := w.costed(200)
		o := w.options("a")
		o.Sources["wms"] = source
		n := w.start(o)
		pass(m)
		n.stop()
		plan.set(scanners.Plan{Cost: 3, Shape: "Seq Scan bins"})
		edited := *w.rules[0]
		edited.Probe.SQL = "SELECT bin_code, qty FROM bins"
		o.Rules[0] = &edited
		n = w.start(o)
		pass(m)
		if s := status(t, n); asked.Load() != 2 || len(s.Warnings) != 0 {
			t.Errorf("asked %d times, %v", asked.Load(), s.Warnings)
		}
	})
}

func TestSourceThatDoesNotAnswerForThePlan(t *testing.T) {
	inWorld(t, func(w *world) {
		_, fault, _, source := w.costed(200)
		fault.set(&scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("no route")})
		w.set(stock("A-01", -3))
		o := w.options("a")
		o.Sources["wms"] = source
		n := w.start(o)
		pass(6 * m)
		if s := status(t, n); s.Verified || !strings.HasPrefix(s.Reason, "source_unreachable") {
			t.Errorf("%+v", s)
		}
		fault.set(nil)
		pass(5 * m)
		if len(w.told()) != 1 {
			t.Fatalf("told %v, %+v", w.told(), status(t, n))
		}
		fault.set(errors.New("permission denied"))
		runs := len(w.ledger.Runs())
		w.age(2 * day)
		pass(20 * m)
		if s := status(t, n); !s.Verified || len(w.ledger.Runs()) < runs+5 {
			t.Errorf("what it said before does not count: %+v, %d runs", s, len(w.ledger.Runs())-runs)
		}
	})
}

// A source that does not explain a plan which costs too much is asked as seldom as one that explains it.
func TestSourceThatDoesNotAnswerForADearPlanIsAskedAsSeldom(t *testing.T) {
	inWorld(t, func(w *world) {
		plan, fault, asked, source := w.costed(200)
		plan.set(scanners.Plan{Cost: 1000, Shape: "Seq Scan bin_stock"})
		o := w.options("a")
		o.Sources["wms"] = source
		w.start(o)
		pass(time.Hour)
		explained := asked.Swap(0)
		fault.set(errors.New("permission denied"))
		pass(time.Hour)
		if n := asked.Load(); n == 0 || n > explained+1 {
			t.Errorf("asked %d times in an hour without an answer, and %d times with one", n, explained)
		}
	})
}

func TestSourceWithoutCosts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Probe.MaxCost = 200
		n := w.start(w.options("a"))
		pass(6 * m)
		if s := status(t, n); s.Verified || !strings.HasPrefix(s.Reason, "probe_cost_unknown: the database of source wms") {
			t.Errorf("%+v", s)
		}
	})
}

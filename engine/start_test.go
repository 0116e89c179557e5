package engine_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// TestScopesStartBeforeLateFirings: after a restart each of 1,500 scopes of a rule has a late firing, and a scan takes
// a second. All scopes are verified and planned in a fraction of the time that the late firings take: no scope waits
// for the late firing of another.
func TestScopesStartBeforeLateFirings(t *testing.T) {
	for _, catchUp := range []rules.CatchUp{rules.CatchUpOnce, rules.CatchUpAll} {
		t.Run(string(catchUp), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.rules = nil
				for _, warehouse := range warehouses(1500) {
					r := negativeStock()
					r.Scope, r.Schedule.CatchUp, r.Probe.Timeout = warehouse, catchUp, time.Hour
					w.rules = append(w.rules, r)
					if _, err := w.ledger.Register(w.t.Context(), r.ID, r.Scope, 0, midnight); err != nil {
						t.Fatal(err)
					}
				}
				w.source.Rows = func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
					return nil, pause(ctx, time.Second)
				}
				pass(12 * m)
				n := w.start(w.options("a"))
				pass(10 * time.Second)
				w.hasStarted(n)
			})
		})
	}
}

// TestLateFiringsWaitInLine: each of 1,500 scopes has three late firings. A scope that has run one of them waits in
// line for the next one, and has no goroutine while it waits.
func TestLateFiringsWaitInLine(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules = nil
		for _, warehouse := range warehouses(1500) {
			r := negativeStock()
			r.Scope, r.Schedule.CatchUp = warehouse, rules.CatchUpAll
			w.rules = append(w.rules, r)
			if _, err := w.ledger.Register(w.t.Context(), r.ID, r.Scope, 0, midnight); err != nil {
				t.Fatal(err)
			}
		}
		w.source.Rows = func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
			return nil, pause(ctx, 100*time.Millisecond)
		}
		pass(17 * m)
		before := runtime.NumGoroutine()
		w.start(w.options("a"))
		for len(w.ledger.Runs()) < 1800 {
			pass(time.Second)
		}
		if more := runtime.NumGoroutine() - before; more > 1500 {
			t.Errorf("%d goroutines for the late firings of 1,500 scopes", more)
		}
	})
}

// pause waits that long, in the bubble's time.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// hasStarted checks that each scope is verified and planned.
func (w *world) hasStarted(n node) {
	w.t.Helper()
	list, err := n.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	verified, planned := 0, 0
	for i := range list {
		if list[i].Verified {
			verified++
		}
		if !list[i].NextDue.IsZero() {
			planned++
		}
	}
	if verified != len(list) || planned != len(list) {
		w.t.Errorf("of %d scopes %d are verified and %d are planned", len(list), verified, planned)
	}
}

package engine_test

import (
	"context"
	"testing"
	"time"

	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// TestScopesStartWhileLateFiringsHang: after a restart each of 1,500 scopes of a rule has a late firing, and the source answers no scan. All scopes are verified and
// planned at once: no scope waits for the late firing of another.
func TestScopesStartWhileLateFiringsHang(t *testing.T) {
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
					<-ctx.Done()
					return nil, ctx.Err()
				}
				pass(12 * m)
				n := w.start(w.options("a"))
				pass(10 * time.Second)
				w.hasStarted(n)
			})
		})
	}
}

// hasStarted wants each scope to be verified and planned.
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

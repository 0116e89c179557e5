package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// hasLate checks how overdue the rule is, and whether it is late.
func hasLate(t *testing.T, n node, overdue time.Duration, late bool) {
	t.Helper()
	if s := status(t, n); s.Overdue.Truncate(time.Second) != overdue || s.Late != late {
		t.Errorf("overdue by %s, late %v; wanted %s, %v", s.Overdue, s.Late, overdue, late)
	}
}

// idle is a node whose engine does not run.
func (w *world) idle(o engine.Options) node {
	w.t.Helper()
	e, err := engine.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return node{Engine: e}
}

// The rule is due every five minutes. It is late 6 minutes after a firing should have started, whatever delays the
// firing.
func TestAFiringThatDoesNotRunIsLate(t *testing.T) {
	for name, hinder := range map[string]func(w *world) node{
		"the source has never been in reach": func(w *world) node {
			w.source.Break(errAway)
			return w.start(w.options("a"))
		},
		"no unit runs": func(w *world) node {
			return w.idle(w.options("a"))
		},
		"all workers are busy": func(w *world) node {
			o := w.options("a")
			other := negativeStock()
			other.ID, other.Schedule.Cron, other.Probe.Timeout = "hangs", "4 0 1 1 *", time.Hour
			o.Rules, o.Workers = append(o.Rules, other), 1
			w.source.Rows = func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return w.start(o)
		},
		"a dead node has it": func(w *world) node {
			_, err := w.ledger.Register(w.t.Context(), "negative-bin-stock", "119240", 0, midnight)
			if err == nil {
				_, err = w.ledger.Claim(w.t.Context(), "negative-bin-stock", "119240", 0, midnight.Add(5*m), "dead", 10*time.Second)
			}
			if err != nil {
				w.t.Fatal(err)
			}
			return w.idle(w.options("a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				n := hinder(w)
				first := func() engine.RuleStatus {
					list, err := n.Status(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return list[0]
				}
				pass(5 * m)
				if s := first(); s.Overdue != 0 || s.Late {
					t.Errorf("due now: %s, %v", s.Overdue, s.Late)
				}
				pass(6 * m)
				if s := first(); s.Overdue != 6*m || s.Late {
					t.Errorf("overdue by 6 minutes: %s, %v", s.Overdue, s.Late)
				}
				pass(time.Second)
				if s := first(); s.Overdue != 6*m+time.Second || !s.Late {
					t.Errorf("overdue by 6 minutes and a second: %s, %v", s.Overdue, s.Late)
				}
			})
		})
	}
}

// A running firing has started. Only the next firing may be late, and not before its own start.
func TestAFiringThatRunsIsNotLate(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Schedule.Cron, w.rules[0].Probe.Timeout = "*/10 * * * *", time.Hour
		var slow cell[bool]
		slow.set(true)
		w.source.Rows = func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
			if slow.get() {
				time.Sleep(29 * m) //nolint:forbidigo // the bubble's clock
			}
			return nil, ctx.Err()
		}
		n := w.start(w.options("a"))
		pass(20 * m)
		hasLate(t, n, 0, false)
		pass(7 * m)
		hasLate(t, n, 7*m, true) // 00:20, while that of 00:10 runs
		slow.set(false)
		pass(15 * m)
		hasLate(t, n, 0, false)
	})
}

// A disabled rule is not late. When the rule runs again, it is not late for firings that were due meanwhile.
func TestADisabledRuleIsNotLate(t *testing.T) {
	for name, turn := range map[string]func(w *world, n node, s ledger.Switch){
		"the rule is switched off": func(w *world, n node, s ledger.Switch) { w.turn(n, nil, s) },
		"every rule is stopped": func(w *world, n node, s ledger.Switch) {
			if err := n.Pause(w.t.Context(), ann, s); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				n := w.idle(w.options("a"))
				pass(2 * m)
				turn(w, n, off)
				pass(time.Hour)
				hasLate(t, n, 0, false)
				turn(w, n, out)
				hasLate(t, n, 0, false)
				pass(3*m + 6*m + time.Second) // 01:11:01, and 01:05 was due
				hasLate(t, n, 6*m+time.Second, true)
			})
		})
	}
	inWorld(t, func(w *world) {
		w.rules[0].Enabled = false
		n := w.idle(w.options("a"))
		pass(time.Hour)
		hasLate(t, n, 0, false)
	})
}

// A rule is not late for firings that catch_up: none drops.
func TestWhatIsDroppedIsNotLate(t *testing.T) {
	for catchUp, overdue := range map[rules.CatchUp]time.Duration{rules.CatchUpNone: 0, rules.CatchUpOnce: 0} {
		inWorld(t, func(w *world) {
			w.rules[0].Schedule.Cron, w.rules[0].Schedule.CatchUp = "0 * * * *", catchUp
			w.start(w.options("a")).stop()
			pass(3 * time.Hour)
			n := w.start(w.options("a"))
			pass(time.Second)
			hasLate(t, n, overdue, false)
		})
	}
}

// While the ledger does not answer, its last answer counts.
func TestLateWhileTheLedgerIsAway(t *testing.T) {
	inWorld(t, func(w *world) {
		var away cell[error]
		w.ledger.Fail = func(string) error { return away.get() }
		n := w.start(w.options("a"))
		pass(6 * m)
		hasLate(t, n, 0, false)
		away.set(errors.New("away"))
		pass(11 * m)
		list, err := n.Status(t.Context())
		if err == nil || len(list) != 1 || !list[0].Late {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

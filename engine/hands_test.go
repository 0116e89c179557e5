package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// lossy is a ledger that loses the answers to a number of claims.
type lossy struct {
	*enginetest.Ledger
	answer error // in the place of the answer
	deaf   atomic.Int32
}

func (l *lossy) Claim(ctx context.Context, rule, scope string, term int64, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	c, err := l.Ledger.Claim(ctx, rule, scope, term, due, node, lease)
	if err == nil && l.deaf.Add(-1) >= 0 {
		return ledger.Claim{}, l.answer
	}
	return c, err
}

// A firing that its node holds but does not run begins again within a second, and not at the end of its lease. A claim
// returns ErrBusy when it shared a statement whose answer was lost.
func TestAClaimWhoseAnswerIsLostBeginsAnew(t *testing.T) {
	t.Parallel()
	for _, lost := range []error{ledger.ErrBusy, errors.New("the connection broke")} {
		inWorld(t, func(w *world) {
			w.set(stock("A", -1))
			l := &lossy{Ledger: w.ledger, answer: lost}
			l.deaf.Store(2)
			o := w.options("a")
			o.Ledger = l
			w.start(o)
			pass(5*time.Minute + 3*time.Second)
			if runs := w.ledger.Runs(); len(runs) != 1 || runs[0].Outcome != ledger.OutcomeOK {
				t.Errorf("%v: runs %+v", lost, runs)
			}
			pass(4 * time.Minute)
			if runs, told := w.ledger.Runs(), w.told(); len(runs) != 1 || len(told) != 1 {
				t.Errorf("%v: runs %+v, told %v", lost, runs, told)
			}
		})
	}
}

// A node does not give back a firing that it runs itself, scheduled or ordered, nor one that another node runs.
func TestAFiringThatRunsIsLeftAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var scans atomic.Int32
		w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) {
			scans.Add(1)
			<-time.After(7 * time.Minute)
			return nil, nil
		}
		w.rules[0].Probe.Timeout = 8 * time.Minute
		a := w.start(w.options("a"))
		w.start(w.options("b"))
		pass(4 * time.Minute)
		if _, err := a.RunNow(w.t.Context(), w.rules[0].ID, nil, ordered); err != nil { // it still runs when the next one is due
			t.Error(err)
		}
		pass(5 * time.Minute)
		for _, run := range w.ledger.Runs() {
			if run.Outcome == ledger.OutcomeOK && run.Duration != 7*time.Minute {
				t.Errorf("%+v", run)
			}
		}
		if n := scans.Load(); n != 1 {
			t.Errorf("%d scans", n)
		}
	})
}

// While another node runs a firing, the node asks the ledger which one. A ledger that does not say so, or that does not
// take back a firing that the node does not run, is in the log.
func TestAFailedQuestionAboutTheRunningFiringIsLogged(t *testing.T) {
	t.Parallel()
	for method, line := range map[string]string{
		"Scope":   "The ledger did not say which firing of the rule runs. The node tries again soon.",
		"Release": "The ledger says that this node holds a firing, but the node does not run it. The ledger did not take the firing back. The node tries again soon.",
	} {
		inWorld(t, func(w *world) {
			l := &lossy{Ledger: w.ledger, answer: ledger.ErrBusy}
			l.deaf.Store(1)
			w.ledger.Fail = func(asked string) error {
				if asked == method {
					return errChaos
				}
				return nil
			}
			var out testenv.Output
			o := w.options("a")
			o.Ledger, o.Logger = l, slog.New(slog.NewTextHandler(&out, nil))
			w.start(o)
			pass(5*time.Minute + 3*time.Second)
			if lines := logLines(&out, line); len(lines) == 0 {
				t.Errorf("%s fails, and the log has only\n%s", method, &out)
			}
		})
	}
}

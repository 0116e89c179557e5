package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
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

package engine_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/ledger"
)

// manyScopes gives the world a rule in n scopes that are due at the same second.
func (w *world) manyScopes(n int) {
	w.rules = nil
	for i := range n {
		r := negativeStock()
		r.Scope = fmt.Sprint(100000 + i)
		w.rules = append(w.rules, r)
	}
}

func TestRulesThatAreDueTogetherAskForTheTypesOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.manyScopes(200)
		var asked atomic.Int64
		w.ledger.Fail = func(method string) error {
			if method == "TypesVersion" {
				asked.Add(1)
			}
			return nil
		}
		w.start(w.options("a"))
		pass(4 * m)
		before := asked.Load()
		pass(m + 30*time.Second)
		if n := asked.Load() - before; n != 1 || len(w.ledger.Runs()) != 200 {
			t.Errorf("%d questions for %d runs", n, len(w.ledger.Runs()))
		}
	})
}

func TestChangedTypesAreInForceWithinASecond(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Schedule.Cron = "@every 1s"
		w.rules[0].RepeatInterval = time.Second
		w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(10*time.Second + 500*time.Millisecond)
		renamed := repNotice
		renamed.ID = 5
		w.ledger.SetTypes(renamed)
		pass(time.Second)
		if got := w.notices(); got[len(got)-1].TypeID != 5 {
			t.Errorf("told %+v", got[len(got)-1])
		}
	})
}

func TestTypesThatCannotBeReadAreAskedForAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		var away cell[error]
		w.ledger.Fail = func(method string) error {
			if method == "TypesVersion" {
				return away.get()
			}
			return nil
		}
		away.set(errors.New("connection refused"))
		n := w.start(w.options("a"))
		pass(m)
		if s := status(t, n); s.Verified || s.Reason != "the types cannot be read: connection refused" {
			t.Errorf("%+v", s)
		}
		away.set(nil)
		pass(2 * m)
		if s := status(t, n); !s.Verified {
			t.Errorf("%+v", s)
		}
		away.set(errors.New("connection refused"))
		pass(3 * m) // a rule that was verified runs on
		if runs := w.ledger.Runs(); len(runs) != 1 || runs[0].Outcome != ledger.OutcomeOK {
			t.Errorf("%+v", runs)
		}
	})
}

// A long run commits notices by the types in force at the commit.
func TestTypesThatChangeDuringAScanAreInForceForItsCommit(t *testing.T) {
	inWorld(t, func(w *world) {
		slow(w, m)
		w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(5*m + 30*time.Second)
		renamed := repNotice
		renamed.ID = 5
		w.ledger.SetTypes(renamed)
		pass(2 * m)
		w.wantDues("5 ok")
		if got := w.notices(); len(got) != 1 || got[0].TypeID != 5 {
			t.Errorf("told %+v", got)
		}
	})
}

func TestTypesThatChangeWhileARuleWaitsForAWorker(t *testing.T) {
	inWorld(t, func(w *world) {
		w.manyScopes(3)
		slow(w, m)
		o := w.options("a")
		o.Workers = 1
		w.start(o)
		w.set(stock("A-01", -3))
		pass(5*m + 30*time.Second)
		renamed := repNotice
		renamed.ID = 5
		w.ledger.SetTypes(renamed)
		pass(4 * m)
		for _, r := range w.rules {
			if got := w.inbox.Taken(r.Scope); len(got) != 1 || got[0].TypeID != 5 {
				t.Errorf("scope %s was told %+v", r.Scope, got)
			}
		}
	})
}

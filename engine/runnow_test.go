package engine_test

import (
	"errors"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
)

// ordered accepts every ordered firing.
func ordered(*engine.RequestedFiring) error { return nil }

func TestRunNow(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(7 * time.Minute)
		o, err := n.RunNow(w.t.Context(), "negative-bin-stock", nil, ordered)
		if err != nil || o.Run == nil || o.Run.Outcome != ledger.OutcomeOK || o.Run.Firing != 1 || !o.Run.Due.Equal(o.Due) {
			t.Fatalf("%+v, %v", o, err)
		}
		refused := errors.New("the record of it could not be written")
		var due time.Time
		_, err = n.RunNow(w.t.Context(), "negative-bin-stock", nil, func(o *engine.RequestedFiring) error {
			due = o.Due
			return refused
		})
		if !errors.Is(err, refused) || due.Before(o.Due) {
			t.Errorf("what was not to begin at %s: %v", due, err)
		}
		pass(4 * time.Minute)
		w.hasRun("between the others", 5, 7, 10)
	})
}

// A disabled or paused rule runs when an operator asks for it, and stays disabled afterwards. For its findings no time
// has passed meanwhile.
func TestRunNowOfADisabledRule(t *testing.T) {
	t.Parallel()
	for name, disable := range map[string]func(w *world, n node){
		"disabled": func(w *world, n node) { w.turn(n, nil, off) },
		"paused":   func(w *world, n node) { w.pause(n, off) },
	} {
		inWorld(t, func(w *world) {
			w.rules[0].KeepFiringFor = 10 * time.Minute
			n := w.start(w.options("a"))
			w.set(stock("A-01", -3))
			pass(6 * time.Minute)
			disable(w, n)
			w.set()
			pass(time.Hour)
			o, err := n.RunNow(w.t.Context(), "negative-bin-stock", nil, ordered)
			if err != nil || o.Run == nil || o.Run.Firing != 1 {
				t.Fatalf("%s: %+v, %v", name, o, err)
			}
			pass(time.Hour)
			w.hasRun(name+", once", 5, 66)
		})
	}
}

func TestRunNowWaitsAFewSeconds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		slow(w, 2*time.Minute)
		w.rules[0].Probe.Timeout = time.Hour
		nodes := []node{w.start(w.options("a")), w.start(w.options("b"))}
		pass(time.Minute)
		o, err := nodes[0].RunNow(w.t.Context(), "negative-bin-stock", nil, ordered)
		if err != nil || o.Run != nil {
			t.Fatalf("%+v, %v", o, err)
		}
		for _, n := range nodes {
			if _, err := n.RunNow(w.t.Context(), "negative-bin-stock", nil, ordered); !errors.Is(err, engine.ErrRunning) {
				t.Errorf("while it runs: %v", err)
			}
		}
		pass(2 * time.Minute)
		w.hasRun("it went on", 1)
	})
}

func TestRunNowRefuses(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.source.Columns = nil // the rule's condition does not fit
		n := w.start(w.options("a"))
		pass(time.Second)
		var unknown *engine.UnknownError
		if _, err := n.RunNow(w.t.Context(), "no-rule", nil, ordered); !errors.As(err, &unknown) {
			t.Errorf("%v", err)
		}
		var unverified *engine.UnverifiedError
		if _, err := n.RunNow(w.t.Context(), "negative-bin-stock", nil, ordered); !errors.As(err, &unverified) {
			t.Errorf("%v", err)
		}
		w.turn(n, nil, off)
		if _, err := n.RunNow(w.t.Context(), "negative-bin-stock", nil, ordered); !errors.As(err, &unverified) {
			t.Errorf("disabled: %v", err)
		}
		n.stop()
		if _, err := n.RunNow(w.t.Context(), "negative-bin-stock", nil, ordered); !errors.Is(err, engine.ErrStopping) {
			t.Errorf("stopped: %v", err)
		}
	})
}

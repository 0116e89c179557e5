package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tallyman/internal/delivery"
)

// While a lane fails, the fault of the sink is the error of such a lane, and not of a lane that works again.
func TestTheFaultOfASinkIsOfALaneThatFails(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		full, slow := errors.New("lane 100 is full"), errors.New("lane 200 is slow")
		var isSlow cell[bool]
		w.inbox.Fail = func(_ context.Context, lane string, _ []delivery.Delivery) error {
			switch {
			case lane == "100":
				return full
			case isSlow.get():
				return slow
			}
			return nil
		}
		n := w.start(w.options("a"))
		w.set(stock("A-1", -1))
		pass(90 * time.Second) // lane 100 is tried every few seconds by now
		isSlow.set(true)
		w.set(stock("A-1", -1), stock("B-1", -1))
		failed := false
		for range 2000 {
			if pass(20 * time.Millisecond); errors.Is(n.SinkFault("inbox"), slow) {
				failed = true
				isSlow.set(false)
			}
			if err := n.SinkFault("inbox"); len(w.inbox.Taken("200")) > 0 && !errors.Is(err, full) {
				t.Errorf("lane 200 works again, and the sink has the fault %v", err)
				return
			}
		}
		if !failed || len(w.inbox.Taken("200")) != 1 {
			t.Errorf("lane 200 has failed: %v, and got %d notices", failed, len(w.inbox.Taken("200")))
		}
	})
}

// A sink has a fault while the last call of any lane has failed. The fault ends when this node or another delivers to
// the lane.
func TestTheHealthOfASinkIsItsLastCalls(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		var full cell[error]
		w.inbox.Fail = func(_ context.Context, lane string, _ []delivery.Delivery) error {
			if lane == "100" {
				return full.get()
			}
			return nil
		}
		n := w.start(w.options("a"))
		w.set(stock("A-1", -1), stock("B-1", -1))
		pass(time.Minute)
		if err := n.SinkFault("inbox"); err != nil {
			t.Errorf("all is well: %v", err)
		}
		oom := errors.New("OOM command not allowed")
		full.set(oom)
		w.set(stock("A-1", -1), stock("B-1", -1), stock("A-2", -1), stock("B-2", -1))
		pass(time.Minute)
		if err := n.SinkFault("inbox"); !errors.Is(err, oom) {
			t.Errorf("one lane fails: %v", err)
		}
		full.set(nil)
		pass(10 * time.Second)
		if err := n.SinkFault("inbox"); err != nil || w.ledger.Unsent() != 0 {
			t.Errorf("it works again: %v, %d unsent", err, w.ledger.Unsent())
		}
		if err := n.SinkFault("gateway"); err != nil {
			t.Errorf("no sink of the engine's: %v", err)
		}
	})
}

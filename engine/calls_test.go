package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tallyman/internal/delivery"
)

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

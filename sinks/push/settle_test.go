package push_test

import (
	"context"
	"testing"
	"time"

	"tallyman/internal/delivery"
)

// Answers wait for those that are about to come, to be recorded with them, and no longer: the last are recorded as they come.
func TestLastAnswersAreRecordedAtOnce(t *testing.T) {
	t.Parallel()
	after := func(_ context.Context, batch []delivery.Delivery) error {
		<-time.After(time.Duration(4*batch[0].Seq-3) * time.Millisecond) // 1, 5 and 9 ms
		return nil
	}
	inBubble(t, nil, after, func(w *world) {
		for range 3 {
			w.commit("", immediate)
		}
		for _, c := range []struct{ after, sent int }{{1, 1}, {5, 1}, {9, 3}} {
			wait(time.Until(w.start.Add(time.Duration(c.after) * time.Millisecond)))
			if got := w.states()[sent]; got != c.sent {
				w.Errorf("after %d ms %d are recorded as sent", c.after, got)
			}
		}
	})
}

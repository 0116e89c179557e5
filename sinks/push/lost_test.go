package push_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks/push"
)

// If the answer of a claim is lost, the ledger holds deliveries that no node tries. The node releases them with its
// next claim, and keeps the deliveries that it knows.
func TestWhatAClaimHasWithoutAnAnswerIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	var first atomic.Int64
	slow := func(_ context.Context, batch []delivery.Delivery) error {
		if batch[0].Seq == first.Load() {
			<-time.After(10 * time.Second)
		}
		return nil
	}
	inBubble(t, func(o *push.Options) { o.Concurrency, o.Timeout = 4, 15*time.Second }, slow, func(w *world) {
		first.Store(w.commit("", immediate))
		wait(time.Second) // it is under way
		w.loseAnswers(2)
		lost := w.commit("", immediate)
		wait(2 * time.Second)
		if got := w.times(lost, w.start); len(got) != 1 {
			t.Errorf("tried at %v", got)
		}
		wait(time.Minute)
		if got := w.times(first.Load(), w.start); len(got) != 1 {
			t.Errorf("what was under way was tried at %v", got)
		}
		if got := w.counts.all()[push.OutcomeSent]; got != 2 {
			t.Errorf("%d were sent", got)
		}
	})
}

package push_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks/push"
)

// A lease that ends by the ledger's clock while an answer is on its way there makes a claim and the answer cross. The
// answer counts, under the later claim: the strategy allows one attempt, and that was made.
func TestClaimCrossesAnAnswerOnItsWay(t *testing.T) {
	t.Parallel()
	for what, hurdle := range map[string]string{
		"the answer is recorded after the claim":             push.StepSettling,
		"the claim is heard of after the answer is recorded": push.StepClaimed,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var on atomic.Bool
			slow := func(o *push.Options) {
				o.Concurrency = 2
				o.Step = func(step string) {
					if step == hurdle && on.Load() {
						<-time.After(3 * time.Second)
					}
				}
			}
			fails := func(context.Context, []delivery.Delivery) error {
				<-time.After(2 * time.Second)
				return errDown
			}
			inBubble(t, slow, fails, func(w *world) {
				w.commit("", immediate)
				wait(time.Second)
				on.Store(true)
				if hurdle == push.StepClaimed {
					wait(900 * time.Millisecond) // the claim is under way when the channel answers
				} else {
					wait(1500 * time.Millisecond) // the answer waits to be recorded
				}
				w.jump(time.Hour)
				w.runner.Wake()
				wait(time.Minute)
				r := w.row(1)
				if n := len(w.heard()); n != 1 || r.Token < 2 || r.attempts != 1 || r.state != failed {
					w.Fatalf("%d calls, then %+v", n, r)
				}
				if got := w.counts.all(); got[push.OutcomeFailed] != 1 {
					w.Errorf("counted %v", got)
				}
			})
		})
	}
}

// A delivery that an operator retries is tried, even if it is claimed before the answer of its last attempt is
// recorded.
func TestRetryCrossesAClaim(t *testing.T) {
	t.Parallel()
	for what, strategy := range map[string]delivery.Strategy{"it had failed": immediate, "it waited for its next attempt": important} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var on atomic.Bool
			two := func(o *push.Options) {
				o.Concurrency = 2
				asksLate(o, func() bool { return on.CompareAndSwap(true, false) })
			}
			fails := func(context.Context, []delivery.Delivery) error {
				<-time.After(2 * time.Second)
				return errDown
			}
			inBubble(t, two, fails, func(w *world) {
				w.commit("", strategy)
				wait(1900 * time.Millisecond)
				on.Store(true)
				w.runner.Wake()
				wait(200 * time.Millisecond) // the attempt has failed, and that is recorded
				if r := w.row(1); r.attempts != 1 {
					w.Fatalf("before the retry %+v", r)
				}
				w.retry(1)
				wait(6 * time.Second)
				if n, r := len(w.heard()), w.row(1); n < 2 || r.attempts < 2 || r.attempts > n {
					w.Fatalf("%d calls, then %+v", n, r)
				}
			})
		})
	}
}

// An answer that is recorded does not stand in for the attempts that follow it, also where their claim is heard of at
// once.
func TestRecordedAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, script(map[int64][]error{1: {errDown, errDown}}), func(w *world) {
		w.commit("", delayed(time.Second, 3))
		wait(10 * time.Minute)
		if r := w.row(1); len(w.heard()) != 3 || r.attempts != 3 || r.state != sent {
			w.Fatalf("%d calls, then %+v", len(w.heard()), r)
		}
	})
}

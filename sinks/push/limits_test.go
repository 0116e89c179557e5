package push_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/sinks"
	"tallyman/sinks/push"
)

// A sink that fails again and again is left alone: nothing is claimed, also what has one attempt only keeps it, and one
// delivery at a time tries whether the sink is well again.
func TestBreaker(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	answer := func(context.Context, []delivery.Delivery) error {
		if down.Load() {
			return errDown
		}
		return nil
	}
	inBubble(t, func(o *push.Options) { o.Concurrency = 1 }, answer, func(w *world) {
		if s := w.runner.Status(); s.Breaker != push.Closed || s.HeldBack() {
			w.Fatalf("at first %+v", s)
		}
		for range 50 {
			w.commit("", immediate)
		}
		wait(10 * time.Second)
		if n := len(w.heard()); n != 5 {
			w.Fatalf("tried %d times in 10 s, want 5", n)
		}
		s := w.runner.Status()
		if s.Breaker != push.Open || !s.HeldBack() || s.InFlight+s.Waiting != 0 || s.LastError != errDown.Error() || s.LastErrorAt.IsZero() ||
			s.Until.Sub(s.Since).Round(time.Second) != 30*time.Second || !s.LastSent.IsZero() {
			w.Fatalf("then %+v", s)
		}
		if got := w.states(); got[failed] != 5 || got[pending] != 45 {
			w.Fatalf("held back: %v", got)
		}
		wait(60 * time.Second) // two probes
		if n := len(w.heard()); n != 7 {
			w.Fatalf("tried %d times in 70 s, want 7", n)
		}
		down.Store(false)
		wait(30 * time.Second)
		if got := w.states(); got[failed] != 7 || got[sent] != 43 {
			w.Fatalf("when the sink is well: %v", got)
		}
		if s := w.runner.Status(); s.Breaker != push.Closed || s.Failures != 0 || s.LastSent.IsZero() {
			w.Fatalf("at last %+v", s)
		}
	})
}

// A probe is one delivery, also of a sink that takes batches at many a time.
func TestBreakerProbesWithOne(t *testing.T) {
	t.Parallel()
	options := func(o *push.Options) {
		o.Concurrency, o.Batch = 4, push.Batch{Max: 10, Wait: 10 * time.Second}
		o.Breaker = push.Breaker{Failures: 2, Open: time.Minute}
	}
	inBubble(t, options, func(context.Context, []delivery.Delivery) error { return errDown }, func(w *world) {
		for range 100 {
			w.commit("", important)
		}
		wait(50 * time.Second)
		before := len(w.heard())
		wait(4 * time.Minute)
		probes := w.heard()[before:]
		if len(probes) != 4 {
			w.Fatalf("%d probes in 4 minutes", len(probes))
		}
		for _, p := range probes {
			if len(p.seqs) != 1 {
				w.Errorf("a probe has %d deliveries", len(p.seqs))
			}
		}
	})
}

// While a probe is under way nothing else is, and the loop sleeps, also where a claim that was long on its way has
// brought more.
func TestBreakerWaitsForItsProbe(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	var looks atomic.Int64
	options := func(o *push.Options) {
		o.Concurrency, o.Breaker = 4, push.Breaker{Failures: 1, Open: time.Second}
		asksLate(o, slow.Load)
		o.Silenced = func(*notice.Notice) (string, time.Duration) { // is asked whenever a call might begin
			if looks.Add(1) > 1000 {
				return "a loop that does not sleep", time.Hour
			}
			return "", 0
		}
	}
	inBubble(t, options, func(ctx context.Context, _ []delivery.Delivery) error {
		if !slow.Swap(true) {
			<-time.After(time.Second)
			return errDown
		}
		return hang(ctx, nil)
	}, func(w *world) {
		w.commit("", important)
		wait(100 * time.Millisecond)
		for range 5 {
			w.commit("", important)
		}
		wait(9 * time.Second)
		if s, n := w.runner.Status(), len(w.heard()); n != 2 || s.Breaker != push.HalfOpen || s.InFlight != 1 || looks.Load() > 100 {
			w.Errorf("%d calls, %d looks, %+v", n, looks.Load(), s)
		}
	})
}

// A refusal is an answer: the sink is well.
func TestRefusalsDoNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	answer := func(_ context.Context, batch []delivery.Delivery) error { return refuse(batch[0].Seq) }
	inBubble(t, nil, answer, func(w *world) {
		for range 40 {
			w.commit("", important)
		}
		wait(time.Second)
		if got := w.states(); got[failed] != 40 {
			w.Fatalf("%v", got)
		}
	})
}

// While the breaker is open, late deliveries still end.
func TestHeldBackEnds(t *testing.T) {
	t.Parallel()
	options := func(o *push.Options) { o.Breaker.Open = time.Hour }
	inBubble(t, options, func(context.Context, []delivery.Delivery) error { return errDown }, func(w *world) {
		for range 5 {
			w.commit("", immediate)
		}
		wait(time.Second)
		late := w.commit("", timed(time.Minute))
		old := w.add("", important, 2*time.Minute)
		wait(3 * time.Minute)
		if a, b := w.row(late), w.row(old); a.state != timedOut || b.state != canceled || a.attempts+b.attempts != 0 {
			w.Fatalf("the timed one is %d, the expired one %d", a.state, b.state)
		}
		if n := w.counts.all(); n[push.OutcomeTimedOut] != 1 || n[push.OutcomeCanceled] != 1 || n[push.OutcomeFailed] != 5 {
			w.Errorf("counted %v", n)
		}
	})
}

// A sink that asks for a pause gets it: the delivery and the whole sink wait, and the breaker stays closed. The longest
// pause is an hour.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ asked, got time.Duration }{
		"90 s": {90 * time.Second, 90 * time.Second}, "a week": {7 * 24 * time.Hour, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := map[int64][]error{}
			for seq := range int64(8) {
				answers[seq+1] = []error{&sinks.LaterError{After: c.asked, Err: errDown}}
			}
			inBubble(t, nil, script(answers), func(w *world) {
				for range 8 {
					w.commit("", important)
				}
				wait(time.Second)
				if s := w.runner.Status(); s.Breaker != push.Closed || !s.HeldBack() || s.HeldUntil.Sub(w.start).Round(time.Second) != c.got {
					w.Fatalf("%+v", s)
				}
				ninth := w.commit("", immediate)
				wait(c.got - 2*time.Second)
				if n := len(w.heard()); n != 8 {
					w.Fatalf("tried %d times before the time is over, want 8", n)
				}
				wait(3 * time.Second)
				if got := w.states(); got[sent] != 9 || w.times(ninth, w.start)[0] < c.got {
					w.Fatalf("after it: %v", got)
				}
				if s := w.runner.Status(); s.HeldBack() {
					w.Fatalf("after it: %+v", s)
				}
			})
		})
	}
}

// A rate is kept, and what waits for it is not claimed long before.
func TestRate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *push.Options) { o.Rate = 50 }, nil, func(w *world) {
		for range 1000 {
			w.add("", important, time.Hour)
		}
		w.runner.Wake()
		for second := range 20 {
			wait(time.Second)
			if n, want := len(w.heard()), 50*(second+1); n < want-10 || n > want+5 {
				w.Fatalf("%d calls in %d s", n, second+1)
			}
			if s := w.runner.Status(); s.Waiting > 20 {
				w.Fatalf("%d are claimed ahead", s.Waiting)
			}
		}
		wait(time.Second)
		if got := w.states(); got[sent] != 1000 {
			w.Fatalf("%v", got)
		}
	})
}

// A rate of a few an hour claims nothing that it cannot try.
func TestSlowRate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *push.Options) { o.Rate = 4. / 3600 }, nil, func(w *world) {
		for range 3 {
			w.commit("", important)
		}
		wait(2 * time.Second)
		claims := w.claims.Load()
		wait(13 * time.Minute)
		if w.claims.Load() != claims || len(w.heard()) != 1 {
			w.Fatalf("%d claims and %d calls in a quarter of an hour", w.claims.Load()-claims, len(w.heard()))
		}
		wait(18 * time.Minute)
		if n := len(w.heard()); n != 3 {
			w.Fatalf("%d calls in half an hour", n)
		}
	})
}

// No more calls at a time than the sink has room for; a sink that hangs has nothing claimed ahead.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *push.Options) { o.Concurrency, o.Breaker.Failures = 3, 1000 }, hang, func(w *world) {
		for range 100 {
			w.commit("", immediate)
		}
		wait(25 * time.Second)
		if w.most != 3 || len(w.heard()) != 9 {
			w.Fatalf("%d at a time, %d calls in 25 s with a timeout of 10 s", w.most, len(w.heard()))
		}
		if s := w.runner.Status(); s.InFlight != 3 || s.Waiting > 3 {
			w.Fatalf("%+v", s)
		}
		if r := w.row(1); r.failure != "no answer within 10s: context deadline exceeded" {
			w.Errorf("the error is %q", r.failure)
		}
	})
}

package push_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks/push"
	"tallyman/sinks/scrub"
)

// A stop lets the calls under way end, records their answers, and releases the other claimed deliveries.
func TestStopLetsCallsEnd(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context, _ []delivery.Delivery) error {
		select {
		case <-time.After(5 * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	inBubble(t, func(o *push.Options) { o.Rate = 4; o.Burst = 2 }, slow, func(w *world) {
		for range 6 {
			w.commit("", immediate)
		}
		wait(100 * time.Millisecond)
		w.stop()
		if took := time.Since(w.start); took > 6*time.Second {
			w.Errorf("the stop took %s", took)
		}
		if got := w.states(); got[sent] != 2 || got[pending] != 4 || len(w.heard()) != 2 {
			w.Fatalf("%v after %d calls", got, len(w.heard()))
		}
		w.nothingClaimed()
	})
}

// A call that takes longer than the grace is cut off. Nobody knows whether it was taken, so it is given back, and
// counts as no attempt.
func TestStopCutsCallsOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *push.Options) { o.Timeout = time.Minute }, hang, func(w *world) {
		w.commit("", immediate)
		wait(time.Second)
		w.stop()
		if took := time.Since(w.start); took > 12*time.Second {
			w.Errorf("the stop took %s", took)
		}
		if r := w.row(1); r.state != pending || r.attempts != 0 {
			w.Fatalf("%+v", r)
		}
		w.nothingClaimed()
	})
}

// Answers of the channel that the ledger does not have yet are recorded before the node stops.
func TestStopRecordsAnswersThatWait(t *testing.T) {
	t.Parallel()
	slow := func(o *push.Options) {
		o.Concurrency = 4
		o.Step = func(step string) {
			if step == push.StepSettling {
				<-time.After(2 * time.Second)
			}
		}
	}
	inBubble(t, slow, nil, func(w *world) {
		for range 4 {
			w.commit("", immediate)
			wait(200 * time.Millisecond)
		}
		if got := w.states(); got[pending] != 4 || len(w.heard()) != 4 {
			w.Fatalf("before the stop %v after %d calls", got, len(w.heard()))
		}
		w.stop()
		if got := w.states(); got[sent] != 4 {
			w.Errorf("%v after %d calls", got, len(w.heard()))
		}
		w.nothingClaimed()
	})
}

// A ledger that is away does not keep the node from stopping.
func TestStopWithoutLedger(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, nil, func(w *world) {
		wait(time.Second)
		w.answer = func(context.Context, []delivery.Delivery) error { w.fail(errAway); return nil }
		w.commit("", immediate)
		wait(time.Second)
		w.stop()
		if took := time.Since(w.start); took > 10*time.Second {
			w.Errorf("the stop took %s", took)
		}
	})
}

// Deliveries that the sink took while the ledger was away are recorded when it is back, and not tried again. Until then
// nothing new is tried.
func TestLedgerAway(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, nil, func(w *world) {
		wait(time.Second)
		w.answer = func(context.Context, []delivery.Delivery) error { w.fail(errAway); return nil }
		for range 20 {
			w.add("", important, time.Hour)
		}
		w.runner.Wake()
		wait(30 * time.Second)
		first := len(w.heard())
		if first > 20 || w.states()[sent] != 0 {
			w.Fatalf("%d calls, %v", first, w.states())
		}
		w.answer = nil
		w.fail(nil)
		wait(2 * time.Minute) // more than a lease
		if got := w.states(); got[sent] != 20 || len(w.heard()) != 20 {
			w.Fatalf("%v after %d calls", got, len(w.heard()))
		}
	})
}

// An answer that comes to the ledger after the lease has ended does not make a delivery that was sent go again.
func TestSentCountsAfterTheLease(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, nil, func(w *world) {
		wait(time.Second)
		w.answer = func(context.Context, []delivery.Delivery) error { w.fail(errAway); return nil }
		w.commit("", important)
		wait(10 * time.Minute)
		w.fail(nil)
		wait(time.Minute)
		if r := w.row(1); r.state != sent || len(w.heard()) != 1 {
			w.Fatalf("%+v after %d calls", r, len(w.heard()))
		}
	})
}

// Also where so much was sent that the ledger, back after the leases have ended, takes it in portions.
func TestMuchSentCountsAfterTheLease(t *testing.T) {
	t.Parallel()
	batches := func(o *push.Options) { o.Concurrency, o.Batch.Max = 4, 1000 }
	inBubble(t, batches, nil, func(w *world) {
		wait(time.Second)
		w.answer = func(context.Context, []delivery.Delivery) error {
			<-time.After(time.Second)
			w.fail(errAway)
			return nil
		}
		for range 4000 {
			w.add("", important, time.Hour)
		}
		w.runner.Wake()
		wait(10 * time.Minute)
		calls := len(w.heard())
		if calls < 2 {
			w.Fatalf("%d calls", calls)
		}
		w.answer = nil
		w.fail(nil)
		wait(2 * time.Minute)
		times := map[int64]int{}
		for _, one := range w.heard() {
			for _, seq := range one.seqs {
				times[seq]++
			}
		}
		for seq, n := range times {
			if n > 1 {
				w.Fatalf("delivery %d was sent %d times", seq, n)
			}
		}
		if got := w.states(); got[sent] != 4000 {
			w.Fatalf("%v", got)
		}
	})
}

// A channel that does not heed the end of its context does not keep the node from stopping.
func TestStopLeavesWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, nil, func(w *world) {
		ends := make(chan struct{}) // of the bubble
		w.answer = func(context.Context, []delivery.Delivery) error { <-ends; return nil }
		w.commit("", important)
		wait(time.Second)
		w.stop()
		if took := time.Since(w.start); took > 22*time.Second {
			w.Errorf("the stop took %s", took)
		}
		if r := w.row(1); r.state != pending || r.leased.IsZero() {
			w.Errorf("%+v", r)
		}
		close(ends)
	})
}

// A lease that has ended by the ledger's clock alone, which jumped, does not make this node try beside itself.
func TestOwnLeaseEndsEarly(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *push.Options) { o.Concurrency = 2 }, hang, func(w *world) {
		w.commit("", important)
		wait(time.Second)
		w.jump(time.Hour)
		wait(5 * time.Second)
		if n := len(w.heard()); n != 1 || w.row(1).Token != 2 {
			w.Fatalf("%d calls under claim %d", n, w.row(1).Token)
		}
		wait(5 * time.Second) // it fails, and that counts under the later claim
		if r := w.row(1); r.attempts != 1 {
			w.Fatalf("%+v", r)
		}
	})
}

// No attempt begins that could end after its lease: if a quick sink begins to hang, the other claimed deliveries are
// released.
func TestNoAttemptPastTheLease(t *testing.T) {
	t.Parallel()
	options := func(o *push.Options) { o.Concurrency, o.Breaker.Failures = 1, 1000 }
	inBubble(t, options, nil, func(w *world) {
		var quick atomic.Int64
		w.answer = func(ctx context.Context, batch []delivery.Delivery) error {
			if left := time.Until(w.row(batch[0].Seq).leased); left < 20*time.Second {
				w.Errorf("%d is tried %s before its lease ends", batch[0].Seq, left)
			}
			if quick.Add(1) < 300 {
				return nil
			}
			return hang(ctx, batch)
		}
		for range 400 {
			w.add("", important, 72*time.Hour)
		}
		w.runner.Wake()
		wait(10 * time.Minute)
		released := 0
		for i := range 400 {
			if slices.Contains(w.row(int64(i+1)).settles, delivery.SettleRelease) {
				released++
			}
		}
		if released < 10 || len(w.heard()) < 350 {
			w.Errorf("%d were given back, %d calls", released, len(w.heard()))
		}
	})
}

// A panic of a channel is an error of that call.
func TestPanic(t *testing.T) {
	t.Parallel()
	var calls int
	answer := func(context.Context, []delivery.Delivery) error {
		if calls++; calls == 1 {
			panic("nil bin")
		}
		return nil
	}
	inBubble(t, nil, answer, func(w *world) {
		w.commit("", important)
		wait(time.Minute)
		if r := w.row(1); r.state != sent || r.attempts != 2 {
			w.Fatalf("%+v", r)
		}
	})
}

// Errors are cleaned before they are kept: no secrets, one line, UTF-8, not endless.
func TestErrorsAreClean(t *testing.T) {
	t.Parallel()
	redact := func(o *push.Options) { o.Scrubber = scrub.New("s3cret") }
	long := errors.New("s3cret\x00 a\nb \xff " + strings.Repeat("ä", 5000))
	inBubble(t, redact, script(map[int64][]error{1: {long}}), func(w *world) {
		w.commit("", immediate)
		wait(time.Second)
		got := w.row(1).failure
		if !strings.HasPrefix(got, "***[U+0000] a b � ä") || !strings.HasSuffix(got, "ä…") || len(got) > 2010 || w.runner.Status().LastError != got {
			w.Fatalf("kept as %q", got)
		}
	})
}

// nothingClaimed fails where a claim is in force.
func (w *world) nothingClaimed() {
	w.Helper()
	w.memory.mu.Lock()
	defer w.memory.mu.Unlock()
	for _, r := range w.rows {
		if r.state == pending && !r.leased.IsZero() {
			w.Errorf("%d is still claimed", r.Seq)
		}
	}
}

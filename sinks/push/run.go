package push

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"tallyman/internal/retry"
)

// longError is how many bytes of an error's text are kept.
const longError = 2000

// Runner sends the due deliveries of one sink.
type Runner struct {
	o       Options
	breaker *breaker
	status  sharedStatus
	woken   chan struct{}
	silent  error // the cause of calls that time out
}

// New returns a runner. Run starts it.
func New(o Options) (*Runner, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	opts.Logger = opts.Logger.With("sink", opts.Sink)
	return &Runner{
		o: opts, breaker: newBreaker(opts.Breaker), woken: make(chan struct{}, 1), silent: fmt.Errorf("no answer within %s", opts.Timeout),
	}, nil
}

// Wake says that a delivery may be due. Wake never blocks.
func (r *Runner) Wake() {
	select {
	case r.woken <- struct{}{}:
	default: // the loop will look anyway
	}
}

// Run sends deliveries until ctx ends. Then it tries nothing new, and releases claimed deliveries that were not tried.
// Calls under way have the stop grace. Their results are recorded before Run returns, unless the ledger does not answer
// for some seconds, or a call does not end.
func (r *Runner) Run(ctx context.Context) {
	calls, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	var wg sync.WaitGroup
	wg.Go(func() { r.endLate(ctx) })
	newLoop(r).run(calls, ctx.Done(), giveUp)
	wg.Wait()
}

// loop is the state of a run. The goroutine of run owns it.
type loop struct {
	*Runner

	grip    *grip          // nil if no session is in force
	jobs    map[int64]*job // claimed deliveries, by number
	waiting []*job         // claimed deliveries that are not being tried, in the order of their claims
	flights int            // calls under way
	barred  bool           // no call may begin until one has ended
	limits  limits
	pace    pace
	claims  claimState
	records records
	stop    stopState

	workers  int
	todo     chan *flight // for the workers
	ended    chan struct{}
	answered chan *flight
}

// stopState is how far the stop of a run has come.
type stopState struct {
	begun  bool
	cutAt  time.Time // when calls under way are cut off
	cut    bool
	cutOff context.CancelCauseFunc
	lost   bool      // the stop does not wait any more for calls that were cut off
	quitAt time.Time // when the stop gives up unrecorded answers; the leases of their deliveries then run out
	quit   bool
}

const (
	lostAfter = 5 * time.Second // how long a stop waits for calls that were cut off
	quitAfter = 5 * time.Second // how long a stop waits for the ledger once no call is under way
)

func newLoop(r *Runner) *loop {
	return &loop{
		Runner:   r,
		jobs:     map[int64]*job{},
		limits:   newLimits(&r.o),
		claims:   claimState{answer: make(chan claimAnswer, 1), retry: retry.New(firstRetry, mostRetry)},
		records:  records{answers: answers{known: map[int64]answer{}}, answer: make(chan recordAnswer, 1), retry: retry.New(firstRetry, mostRetry)},
		todo:     make(chan *flight, r.o.Concurrency),
		ended:    make(chan struct{}, r.o.Concurrency),
		answered: make(chan *flight, r.o.Concurrency),
	}
}

// run returns after stop was closed and nothing is left to do.
func (l *loop) run(ctx context.Context, stop <-chan struct{}, giveUp context.CancelFunc) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	calls, cutOff := context.WithCancelCause(ctx)
	defer cutOff(nil)
	defer l.dismiss()
	for {
		l.regrip(calls)
		now := time.Now()
		if l.stop.begun && l.windDown(now, giveUp) {
			return
		}
		l.begin(now) //nolint:contextcheck // the grip has the context of calls
		l.claim(ctx, now)
		l.settle(ctx, now)
		l.report()
		alarm.Reset(l.next(now))
		select {
		case <-l.woken:
			l.claims.wake()
		case got := <-l.claims.answer:
			l.take(got)
		case f := <-l.answered:
			l.land(f)
			runtime.Gosched() // let other ended calls arrive, so that they are handled together
			for more := true; more; {
				select {
				case f := <-l.answered:
					l.land(f)
				default:
					more = false
				}
			}
		case done := <-l.records.answer:
			l.noted(done)
		case <-alarm.C:
		case <-l.grip.lost():
		case <-stop:
			stop = nil
			l.stop = stopState{begun: true, cutAt: time.Now().Add(l.o.StopGrace), cutOff: cutOff}
		}
	}
}

// dismiss ends the workers. All workers are idle, except the workers of lost calls.
func (l *loop) dismiss() {
	close(l.todo)
	for range l.workers - l.flights {
		<-l.ended
	}
}

// windDown continues the stop of the run, and returns true when it is complete.
func (l *loop) windDown(now time.Time, giveUp context.CancelFunc) bool {
	l.releaseWaiting()
	if !l.stop.cut && !now.Before(l.stop.cutAt) {
		l.stop.cut = true
		l.stop.cutOff(errCut)
	}
	if l.stop.cut && !l.stop.lost && !now.Before(l.stop.cutAt.Add(lostAfter)) && l.flights > 0 {
		l.stop.lost = true
		l.o.Logger.Error("Calls of the sink do not end. Their deliveries are tried again after their leases end.",
			"calls", l.flights)
	}
	if l.flights > 0 && !l.stop.lost {
		return false
	}
	if l.stop.quitAt.IsZero() {
		l.stop.quitAt = now.Add(quitAfter)
	}
	if !l.stop.quit && !now.Before(l.stop.quitAt) {
		l.stop.quit = true
		giveUp()
	}
	if l.claims.asking || l.records.recording {
		return false
	}
	if n := len(l.records.list); n > 0 && l.stop.quit {
		l.o.Logger.Error("Answers of the sink were not recorded. Their deliveries are tried again after their leases end.",
			"count", n)
		return true
	}
	return len(l.records.list) == 0
}

// next returns how long the loop may sleep if nothing happens.
func (l *loop) next(now time.Time) time.Duration {
	wait := pollEvery
	sooner := func(at time.Time) {
		if !at.IsZero() {
			wait = min(wait, max(at.Sub(now), 0))
		}
	}
	if len(l.records.list) > 0 && !l.records.recording {
		sooner(l.records.at)
	}
	if l.stop.begun {
		switch {
		case !l.stop.cut:
			sooner(l.stop.cutAt)
		case !l.stop.lost && l.flights > 0:
			sooner(l.stop.cutAt.Add(lostAfter))
		}
		if !l.stop.quit {
			sooner(l.stop.quitAt)
		}
		return wait
	}
	if l.records.failed {
		return wait
	}
	if until := l.heldUntil(now); !until.IsZero() {
		sooner(until)
		return wait
	}
	if l.flights < l.o.Concurrency && len(l.waiting) > 0 && !l.barred {
		sooner(l.batchReady(now))
	}
	if !l.claims.asking {
		sooner(l.askAt(now))
	}
	return wait
}

// heldUntil returns the time until which the breaker or a Retry-After holds the sink back. Zero means that neither
// does.
func (l *loop) heldUntil(now time.Time) time.Time {
	until := l.breaker.look().until
	if now.Before(l.limits.held) && l.limits.held.After(until) {
		until = l.limits.held
	}
	return until
}

// report updates the numbers in the status.
func (l *loop) report() {
	trying := len(l.jobs) - len(l.waiting)
	l.status.set(func(s *Status) { s.InFlight, s.Waiting, s.HeldUntil = trying, len(l.waiting), l.limits.held })
}

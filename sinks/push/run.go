package push

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"tallyman/internal/retry"
)

// longError is how much of an error's text is kept, in bytes.
const longError = 2000

// Runner delivers what is due for one sink.
type Runner struct {
	o       Options
	breaker *breaker
	status  sharedStatus
	woken   chan struct{}
	silent  error // why a call ends that has no answer in time
}

// New makes a runner; Run sets it going.
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

// Wake says that something may be due. It never blocks.
func (r *Runner) Wake() {
	select {
	case r.woken <- struct{}{}:
	default: // the loop will look anyway
	}
}

// Run delivers until ctx ends. Then nothing new is tried; calls under way have the stop grace, and how they ended is recorded
// before Run returns, unless the ledger does not answer for some seconds, or a call does not end. What was claimed and not tried is
// given back.
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

	grip    *grip          // nil = no session is in force
	jobs    map[int64]*job // what this node has claimed, by number
	waiting []*job         // those that are not being tried, in the order of their claims
	flights int            // calls under way
	barred  bool           // none may begin before one of them has ended
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

// stopState is how far the end of a run has come.
type stopState struct {
	begun  bool
	cutAt  time.Time // calls under way are cut off
	cut    bool
	cutOff context.CancelCauseFunc
	lost   bool      // calls that do not end although they were cut off are left to themselves
	quitAt time.Time // what could not be recorded is left to the end of its lease
	quit   bool
}

const (
	lostAfter = 5 * time.Second // how long a stop waits for calls that were cut off
	quitAfter = 5 * time.Second // how long it waits for the ledger once no call is under way
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

// run ends once stop was closed and nothing is left to do.
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
			runtime.Gosched() // other calls that have ended are landed with it
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

// dismiss ends the workers. None has a call any more, but for those that are lost.
func (l *loop) dismiss() {
	close(l.todo)
	for range l.workers - l.flights {
		<-l.ended
	}
}

// windDown goes on with the end of the run, and tells whether it has come.
func (l *loop) windDown(now time.Time, giveUp context.CancelFunc) bool {
	l.releaseWaiting()
	if !l.stop.cut && !now.Before(l.stop.cutAt) {
		l.stop.cut = true
		l.stop.cutOff(errCut)
	}
	if l.stop.cut && !l.stop.lost && !now.Before(l.stop.cutAt.Add(lostAfter)) && l.flights > 0 {
		l.stop.lost = true
		l.o.Logger.Error("calls of the sink do not end; their deliveries are tried again once their leases end", "calls", l.flights)
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
		l.o.Logger.Error("answers of the sink could not be recorded; those deliveries are tried again once their leases end", "count", n)
		return true
	}
	return len(l.records.list) == 0
}

// next is how long the loop may sleep when nothing happens.
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

// heldUntil is when the sink may be called again; zero = now, as far as breaker and Retry-After go.
func (l *loop) heldUntil(now time.Time) time.Time {
	until := l.breaker.look().until
	if now.Before(l.limits.held) && l.limits.held.After(until) {
		until = l.limits.held
	}
	return until
}

// report tells the status how much is under way.
func (l *loop) report() {
	trying := len(l.jobs) - len(l.waiting)
	l.status.set(func(s *Status) { s.InFlight, s.Waiting, s.HeldUntil = trying, len(l.waiting), l.limits.held })
}

package push

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/trace"
	"tallyman/sinks"
)

// flight is a call under way.
type flight struct {
	batch []delivery.PushClaim
	grip  *grip            // under which it was begun
	done  func(error)      // tells the breaker how it ended
	made  delivery.Attempt // its time is zero where the channel was not called
	err   error
}

// begin makes as many calls as there is room for. While the sink is held back, what was claimed is given back, so that it
// can be canceled, and be tried elsewhere.
func (l *loop) begin(now time.Time) {
	l.barred = false
	if l.grip == nil || l.stop.begun || l.records.failed || len(l.waiting) == 0 {
		return
	}
	if !l.heldUntil(now).IsZero() {
		l.releaseWaiting()
		return
	}
	for l.flights < l.o.Concurrency && l.limits.ready(now) == 0 {
		n, _ := l.ready(now, l.breaker.look().state == HalfOpen)
		if n == 0 {
			return
		}
		if l.hold(n) {
			continue // what waits is other than it was
		}
		done := l.breaker.allow()
		if done == nil {
			l.barred = true // a call is under way that will tell whether the sink is well
			return
		}
		l.limits.take(now)
		l.start(l.shift(n), done)
	}
}

// start hands the call to a worker. There are as many workers as calls were ever under way at a time; they are kept, since a new one would have
// to grow its stack first.
func (l *loop) start(jobs []*job, done func(error)) {
	f := &flight{batch: make([]delivery.PushClaim, len(jobs)), grip: l.grip, done: done}
	for i, j := range jobs {
		f.batch[i] = j.PushClaim
	}
	l.flights++
	if l.flights > l.workers {
		l.workers++
		go l.work()
	}
	l.todo <- f
}

// work makes calls until the run ends.
func (l *loop) work() {
	for f := range l.todo {
		f.made, f.err = l.push(f.grip, f.batch)
		l.answered <- f
	}
	l.ended <- struct{}{}
}

// push makes one call, unless the session is not in force any more. A panic is an error: a notice that a channel cannot cope with must not take the node down.
func (r *Runner) push(g *grip, batch []delivery.PushClaim) (made delivery.Attempt, err error) {
	list := make([]delivery.Delivery, len(batch))
	for i := range batch {
		list[i] = batch[i].Delivery
	}
	ctx, end := r.o.Tracer.Deliver(g.calls, &trace.Call{Sink: r.o.Sink, Attempt: batch[0].Attempts + 1, Batch: list})
	defer func() { end(r.clean(err)) }()
	defer func() {
		if reason := recover(); reason != nil {
			r.o.Logger.Error("panic in a sink", "panic", r.o.Scrubber.Text(fmt.Sprint(reason), longError), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	call, done := context.WithTimeoutCause(ctx, r.o.Timeout, r.silent)
	defer done()
	r.o.Step(StepTrying)
	if !r.o.Session.Holds(g.session) { // the process may have been frozen
		return made, errCut
	}
	call, status := sinks.WithStatus(call)
	made.At = time.Now()
	defer func() { made.Took, made.Status = time.Since(made.At), status.Code() }()
	err = r.o.Pusher.Push(call, list)
	r.o.Step(StepAnswered)
	switch {
	case err == nil:
		return made, nil
	case errors.Is(context.Cause(ctx), errCut):
		return made, fmt.Errorf("%w: %w", errCut, err)
	case call.Err() != nil && errors.Is(err, call.Err()):
		return made, fmt.Errorf("%w: %w", context.Cause(call), err)
	default:
		return made, err
	}
}

// land decides what becomes of the deliveries of a call that has ended.
func (l *loop) land(f *flight) {
	l.flights--
	now := time.Now()
	for i := range f.batch {
		if f.err == nil && f.batch[i].Strategy.Kind != delivery.Delayed {
			l.o.Observer.DeliveryTook(l.o.Sink, now.Sub(f.batch[i].Notice.CreatedAt))
		}
		f.batch[i].Token = l.jobs[f.batch[i].Seq].Token // of a later claim, where the lease ended meanwhile
	}
	text := l.text(f.err)
	f.made.Error = text
	v := judge(f.batch, f.err, f.made, rand.Float64)
	for i := range v.settled {
		s := &v.settled[i]
		l.records.answers.add(s, l.jobs[s.Seq].Ever)
		delete(l.jobs, s.Seq)
	}
	l.records.add(v.settled...)
	l.again(v)
	if f.grip != l.grip {
		l.releaseWaiting()
	}
	l.pace.count(now, len(v.settled))
	l.health(f, now, text)
	l.log(f, v, text)
}

// again puts what was not taken for the sake of others before everything else that waits.
func (l *loop) again(v verdict) {
	if len(v.rest) == 0 {
		return
	}
	list := make([]*job, 0, len(v.rest)+len(l.waiting))
	for _, seq := range v.rest {
		j := l.jobs[seq]
		j.alone = j.alone || v.alone
		list = append(list, j)
	}
	l.waiting = append(list, l.waiting...)
}

// clean is the error without secrets, for traces.
func (r *Runner) clean(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(r.text(err))
}

// text is an error for log and ledger.
func (r *Runner) text(err error) string {
	if err == nil {
		return ""
	}
	if refused, ok := errors.AsType[*sinks.RefusedError](err); ok {
		err = refused.Err
	}
	return r.o.Scrubber.Text(err.Error(), longError)
}

// ready looks at what waits from the first on. It returns how many of it make the next call, without those that are late, which it
// gives back; 0 = none yet, and then at is when it will be time. probe asks for one delivery, at once.
func (l *loop) ready(now time.Time, probe bool) (n int, at time.Time) {
	l.dropLate(now)
	most := l.o.Batch.Max
	if probe {
		most = 1
	}
	for n < len(l.waiting) && n < most {
		j := l.waiting[n]
		switch {
		case j.alone && n == 0:
			return 1, now
		case j.alone || j.late(now):
			return n, now // what comes next cannot join
		}
		n++
		if at.IsZero() || j.goBy.Before(at) {
			at = j.goBy
		}
	}
	if n == most || n > 0 && !now.Before(at) {
		return n, now
	}
	return 0, at
}

// dropLate gives back what waits first and may not be tried any more. What is late behind it comes to the front in its turn.
func (l *loop) dropLate(now time.Time) {
	n := 0
	for n < len(l.waiting) && l.waiting[n].late(now) {
		l.release(l.waiting[n])
		n++
	}
	l.shift(n)
}

// shift takes the first n out of what waits.
func (l *loop) shift(n int) []*job {
	first := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return first
}

// batchReady is when the next call may begin; zero = nothing waits.
func (l *loop) batchReady(now time.Time) time.Time {
	n, at := l.ready(now, l.breaker.look().state == HalfOpen)
	if n == 0 && at.IsZero() {
		return at
	}
	if wait := l.limits.ready(now); wait > 0 {
		at = laterOf(at, now.Add(wait))
	}
	return at
}

// laterOf returns the later of two times.
func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

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

// flight is one call to the channel.
type flight struct {
	batch []delivery.PushClaim
	grip  *grip            // the grip under which the call began
	done  func(error)      // tells the breaker the result
	made  delivery.Attempt // made.At is zero if the channel was not called
	err   error
}

// begin makes as many calls as there is room for. While the breaker is open or the other side has asked for a pause,
// begin releases the waiting deliveries. The ledger can then cancel them, or give them to another node.
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
			continue // the list of waiting deliveries has changed
		}
		done := l.breaker.allow()
		if done == nil {
			l.barred = true // the call under way will tell whether the sink works
			return
		}
		l.limits.take(now)
		l.start(l.shift(n), done)
	}
}

// start hands a call to a worker. A worker is added only when more calls run than ever before. Workers are kept,
// because a new goroutine would have to grow its stack first.
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

// push makes one call, unless the session has ended. A panic becomes an error: a notice that breaks a channel must not
// stop the node.
func (r *Runner) push(g *grip, batch []delivery.PushClaim) (made delivery.Attempt, err error) {
	list := make([]delivery.Delivery, len(batch))
	for i := range batch {
		list[i] = batch[i].Delivery
	}
	ctx, end := r.o.Tracer.Deliver(g.calls, &trace.Call{Sink: r.o.Sink, Attempt: batch[0].Attempts + 1, Batch: list})
	defer func() { end(r.clean(err)) }()
	defer func() {
		if reason := recover(); reason != nil {
			r.o.Logger.Error("A sink panicked. The call counts as failed.",
				"panic", r.o.Scrubber.Text(fmt.Sprint(reason), longError), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	call, done := context.WithTimeoutCause(ctx, r.o.Timeout, r.silent)
	defer done()
	r.o.Step(StepTrying)
	if !r.o.Session.Holds(g.session) { // the process may have been suspended
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

// land decides what happens to the deliveries of a call that has ended.
func (l *loop) land(f *flight) {
	l.flights--
	now := time.Now()
	for i := range f.batch {
		if f.err == nil && f.batch[i].Strategy.Kind != delivery.Delayed {
			l.o.Observer.DeliveryTook(l.o.Sink, now.Sub(f.batch[i].Notice.CreatedAt))
		}
		f.batch[i].Token = l.jobs[f.batch[i].Seq].Token // the delivery may have been claimed again after its lease ended
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

// again puts deliveries back to the front of the waiting list: the sink did not take them because of others in their
// batch.
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

// clean returns the error without secrets, for traces.
func (r *Runner) clean(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(r.text(err))
}

// text returns the text of an error for the log and the ledger.
func (r *Runner) text(err error) string {
	if err == nil {
		return ""
	}
	if refused, ok := errors.AsType[*sinks.RefusedError](err); ok {
		err = refused.Err
	}
	return r.o.Scrubber.Text(err.Error(), longError)
}

// ready returns how many of the first waiting deliveries make up the next call. Before that, ready releases late
// deliveries. If the next call must still wait for others, ready returns 0 and the time when the wait ends. If nothing
// waits, that time is zero. With probe, the call has one delivery and does not wait.
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
			return n, now // the next delivery cannot join this call
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

// dropLate releases late deliveries at the front of the queue. Late deliveries further behind are released when they
// reach the front.
func (l *loop) dropLate(now time.Time) {
	n := 0
	for n < len(l.waiting) && l.waiting[n].late(now) {
		l.release(l.waiting[n])
		n++
	}
	l.shift(n)
}

// shift removes the first n waiting deliveries and returns them.
func (l *loop) shift(n int) []*job {
	first := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return first
}

// batchReady returns when the next call may begin, or zero if nothing waits.
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

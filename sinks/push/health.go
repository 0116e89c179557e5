package push

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tallyman/internal/delivery"
)

// health reports the result of a call to the breaker, the limits and the status. A refusal is an answer, so it counts
// as a success of the sink. A Retry-After sets its own pause, and a call that was cut off says nothing about the sink;
// neither counts for the breaker.
func (l *loop) health(f *flight, now time.Time, text string) {
	before := l.breaker.look().state
	wait := asked(f.err)
	switch {
	case f.err == nil || refusedOf(f.batch, f.err) != nil:
		f.done(nil)
	case wait > 0 || errors.Is(f.err, errCut):
		f.done(errUncounted)
	default:
		f.done(f.err)
	}
	if wait > 0 && l.limits.hold(now, wait) {
		l.o.Logger.Warn("The sink asks for a pause. Its deliveries wait.", "wait", wait, "error", text)
	}
	l.status.set(func(s *Status) {
		if f.err == nil {
			s.LastSent = now
		} else {
			s.LastError, s.LastErrorAt = text, now
		}
	})
	after := l.breaker.look()
	switch {
	case after.state == before:
	case after.state == Open && before == Closed:
		l.o.Logger.Error("The sink fails repeatedly. Its breaker is open, and its deliveries wait.",
			"until", after.until, "error", text)
	case after.state == Open:
		l.o.Logger.Warn("The sink still fails. Its breaker stays open, and its deliveries wait.",
			"until", after.until, "error", text)
	case after.state == Closed:
		l.o.Logger.Info("The sink works again. Its breaker is closed, and its deliveries continue.")
	}
}

// log logs deliveries that have failed for good. With debug it also logs every other attempt.
func (l *loop) log(f *flight, v verdict, text string) {
	if f.err == nil {
		l.o.Logger.Debug("Deliveries were sent.", "notices", loggedDeliveries(f.batch))
		return
	}
	var failed []delivery.PushClaim
	for _, s := range v.settled {
		if s.Kind == delivery.SettleFailed {
			failed = append(failed, f.batch[slices.IndexFunc(f.batch, func(c delivery.PushClaim) bool { return c.Seq == s.Seq })])
		}
	}
	if len(failed) > 0 {
		l.o.Logger.Warn("Deliveries failed. They are not tried again.",
			"ids", seqs(failed), "notices", loggedDeliveries(failed), "error", text)
		return
	}
	l.o.Logger.Debug("Deliveries were not sent. They are tried again.",
		"ids", seqs(f.batch), "notices", loggedDeliveries(f.batch), "error", text)
}

// loggedDeliveries formats deliveries for a log, only if the line is written.
type loggedDeliveries []delivery.PushClaim

// LogValue implements slog.LogValuer.
func (l loggedDeliveries) LogValue() slog.Value {
	list := make(delivery.LogEntry, len(l))
	for i := range l {
		list[i] = l[i].Delivery
	}
	return list.LogValue()
}

// Status is the state of a sink on this node.
type Status struct {
	Breaker  BreakerState
	Since    time.Time // when the breaker entered its state
	Until    time.Time // while the breaker is open: when one delivery is tried
	Failures int       // consecutive transient errors

	HeldUntil time.Time // end of the pause that the channel has asked for (Retry-After); zero means none
	InFlight  int       // deliveries being tried
	Waiting   int       // deliveries that this node has claimed and will try next

	LastError   string // of the last failed attempt; "" means none yet
	LastErrorAt time.Time
	LastSent    time.Time
}

// HeldBack tells whether nothing is tried now, because the breaker is open or the channel has asked for a pause.
func (s *Status) HeldBack() bool { return s.Breaker == Open || !s.HeldUntil.IsZero() }

// sharedStatus is the part of the status that the loop writes and other goroutines read.
type sharedStatus struct {
	mu sync.Mutex
	s  Status
}

func (t *sharedStatus) set(change func(*Status)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.s)
}

// Status returns the status. Any goroutine may call it at any time.
func (r *Runner) Status() Status {
	r.status.mu.Lock()
	s := r.status.s
	r.status.mu.Unlock()
	b := r.breaker.look()
	s.Breaker, s.Since, s.Until, s.Failures = b.state, b.since, b.until, r.breaker.failures()
	if !time.Now().Before(s.HeldUntil) {
		s.HeldUntil = time.Time{}
	}
	return s
}

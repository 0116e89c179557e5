package push

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tallyman/internal/delivery"
)

// health tells the breaker, the limits and the status how a call ended. A refusal is an answer; a Retry-After says itself how long
// the sink is to be left alone; and of a call that was cut off nobody knows.
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
		l.o.Logger.Warn("the sink asks to be left alone", "wait", wait, "error", text)
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
		l.o.Logger.Error("the sink fails again and again; its deliveries wait", "until", after.until, "error", text)
	case after.state == Open:
		l.o.Logger.Warn("the sink still fails; its deliveries wait", "until", after.until, "error", text)
	case after.state == Closed:
		l.o.Logger.Info("the sink is well again; its deliveries go on")
	}
}

// log tells of deliveries that have ended badly, and in detail of every attempt that failed.
func (l *loop) log(f *flight, v verdict, text string) {
	if f.err == nil {
		l.o.Logger.Debug("delivered", "notices", loggedDeliveries(f.batch))
		return
	}
	var failed []delivery.PushClaim
	for _, s := range v.settled {
		if s.Kind == delivery.SettleFailed {
			failed = append(failed, f.batch[slices.IndexFunc(f.batch, func(c delivery.PushClaim) bool { return c.Seq == s.Seq })])
		}
	}
	if len(failed) > 0 {
		l.o.Logger.Warn("deliveries failed", "ids", seqs(failed), "notices", loggedDeliveries(failed), "error", text)
		return
	}
	l.o.Logger.Debug("not delivered yet", "ids", seqs(f.batch), "notices", loggedDeliveries(f.batch), "error", text)
}

// loggedDeliveries are deliveries as logs name them, worked out only where the line is written.
type loggedDeliveries []delivery.PushClaim

// LogValue implements slog.LogValuer.
func (l loggedDeliveries) LogValue() slog.Value {
	list := make(delivery.LogEntry, len(l))
	for i := range l {
		list[i] = l[i].Delivery
	}
	return list.LogValue()
}

// Status is how a sink does on this node.
type Status struct {
	Breaker  BreakerState
	Since    time.Time // the breaker is so
	Until    time.Time // while it is open: when one delivery is tried
	Failures int       // transient errors in a row

	HeldUntil time.Time // the channel has asked to be left alone (Retry-After); zero = it has not
	InFlight  int       // deliveries that are being tried
	Waiting   int       // deliveries that this node has claimed and will try next

	LastError   string // of an attempt; "" = none yet
	LastErrorAt time.Time
	LastSent    time.Time
}

// HeldBack tells whether nothing is tried now, for the breaker is open or the channel has asked for it.
func (s *Status) HeldBack() bool { return s.Breaker == Open || !s.HeldUntil.IsZero() }

// sharedStatus is what the loop says of itself to those who ask for the status.
type sharedStatus struct {
	mu sync.Mutex
	s  Status
}

func (t *sharedStatus) set(change func(*Status)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.s)
}

// Status may be asked at any time, from any goroutine.
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

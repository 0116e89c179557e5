package push

import (
	"sync"
	"time"
)

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

// told is what the loop says of itself to those who ask for the status.
type told struct {
	mu sync.Mutex
	s  Status
}

func (t *told) set(change func(*Status)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.s)
}

// Status may be asked at any time, from any goroutine.
func (r *Runner) Status() Status {
	r.told.mu.Lock()
	s := r.told.s
	r.told.mu.Unlock()
	b := r.breaker.look()
	s.Breaker, s.Since, s.Until, s.Failures = b.state, b.since, b.until, r.breaker.failures()
	if !time.Now().Before(s.HeldUntil) {
		s.HeldUntil = time.Time{}
	}
	return s
}

package push

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// BreakerState is what a breaker lets through.
type BreakerState string

// The states.
const (
	Closed   BreakerState = "closed"    // everything
	Open     BreakerState = "open"      // nothing: the sink has failed too often in a row
	HalfOpen BreakerState = "half_open" // one call, which decides
)

// errUncounted is told to the breaker of a call that says nothing about the sink's health.
var errUncounted = errors.New("not counted")

// breaker leaves a sink alone that fails again and again. It remembers since when it is as it is.
type breaker struct {
	open time.Duration
	cb   *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu     sync.Mutex
	since  time.Time
	closed atomic.Bool // as it mostly is; only a failure changes that, no time that passes
}

func newBreaker(o Breaker) *breaker {
	b := &breaker{open: o.Open, since: time.Now()}
	b.closed.Store(true)
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     o.Open,
		ReadyToTrip: func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(o.Failures) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errUncounted) },
		OnStateChange: func(_ string, _, now gobreaker.State) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.since = time.Now()
			b.closed.Store(now == gobreaker.StateClosed)
		},
	})
	return b
}

// allow asks for one call. done takes how it ended; nil = it may not be made now.
func (b *breaker) allow() (done func(error)) {
	done, err := b.cb.Allow()
	if err != nil {
		return nil
	}
	return done
}

// breakerView is a breaker at one moment.
type breakerView struct {
	state BreakerState
	since time.Time
	until time.Time // open: when it will be half open
}

// look may find that the time of being open has passed.
func (b *breaker) look() breakerView {
	state := gobreaker.StateClosed
	if !b.closed.Load() {
		state = b.cb.State()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v := breakerView{since: b.since}
	switch state {
	case gobreaker.StateOpen:
		v.state, v.until = Open, b.since.Add(b.open+time.Nanosecond) // it opens after that moment, not at it
	case gobreaker.StateHalfOpen:
		v.state = HalfOpen
	default:
		v.state = Closed
	}
	return v
}

// failures is how many calls failed in a row.
func (b *breaker) failures() int { return int(b.cb.Counts().ConsecutiveFailures) }

package push

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"tallyman/internal/delivery"
)

// A delivery is claimed at most this long before the rate permits its call.
const soon = 250 * time.Millisecond

// limits say when the sink may be called. Only the loop uses them.
type limits struct {
	rate *rate.Limiter
	held time.Time // end of the pause that the channel has asked for
}

func newLimits(o *Options) limits { return limits{rate: rate.NewLimiter(o.Rate, o.Burst)} }

// hold applies a Retry-After. hold returns true if the sink was not paused before.
func (l *limits) hold(now time.Time, d time.Duration) bool {
	news := !now.Before(l.held)
	if until := now.Add(d); until.After(l.held) {
		l.held = until
	}
	return news
}

// take uses up one call.
func (l *limits) take(now time.Time) bool { return l.rate.AllowN(now, 1) }

// calls returns how many calls the rate permits until a time.
func (l *limits) calls(until time.Time) int {
	if l.rate.Limit() == rate.Inf {
		return math.MaxInt32
	}
	return max(0, int(l.rate.TokensAt(until)))
}

// ready returns how long it takes until the rate permits a call.
func (l *limits) ready(now time.Time) time.Duration {
	missing := 1 - l.rate.TokensAt(now)
	if l.rate.Limit() == rate.Inf || missing <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(missing / float64(l.rate.Limit()) * float64(time.Second)))
}

// longestHold is the longest time that a silence puts a delivery off. Then the silence is checked again, because it may
// have changed.
const longestHold = 5 * time.Minute

// hold removes silenced deliveries from the first n waiting ones: they are put off until their silence ends. hold is
// called right before each call, and returns true if it has removed any.
func (l *loop) hold(n int) bool {
	kept := l.waiting[:0:0]
	for _, j := range l.waiting[:n] {
		id, left := l.o.Silenced(j.Notice)
		if id == "" {
			kept = append(kept, j)
			continue
		}
		delete(l.jobs, j.Seq)
		s := settled(&j.PushClaim, delivery.SettleHold, delivery.Attempt{})
		s.HeldBy, s.After = id, min(left, longestHold)
		l.records.add(s)
	}
	if len(kept) == n {
		return false
	}
	l.waiting = append(kept, l.waiting[n:]...)
	return true
}

// pace counts how many deliveries ended recently. That many are claimed ahead, because the next quarter of a second
// will probably need them. For a sink that hangs, none are claimed ahead.
type pace struct {
	start     time.Time // of the present span
	now, last int       // counted in the present span, and in the one before
}

const (
	paceSpan  = 250 * time.Millisecond
	mostAhead = 2000
)

func (p *pace) count(at time.Time, n int) {
	p.roll(at)
	p.now += n
}

func (p *pace) roll(at time.Time) {
	switch at.Sub(p.start) / paceSpan {
	case 0:
	case 1:
		p.start, p.last, p.now = p.start.Add(paceSpan), p.now, 0
	default:
		p.start, p.last, p.now = at, 0, 0
	}
}

// ahead returns how many deliveries to have ready, besides the deliveries that can be tried at once.
func (p *pace) ahead(at time.Time) int {
	p.roll(at)
	return min(max(p.now, p.last), mostAhead)
}

// BreakerState is the state of a breaker.
type BreakerState string

// The states.
const (
	Closed   BreakerState = "closed"    // all calls are made
	Open     BreakerState = "open"      // no call is made: the sink has failed too often in a row
	HalfOpen BreakerState = "half_open" // one call is made, and decides
)

// errUncounted tells the breaker that a call says nothing about the sink's health.
var errUncounted = errors.New("not counted")

// breaker pauses a sink that fails repeatedly. since is when the present state began.
type breaker struct {
	open time.Duration
	cb   *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu     sync.Mutex
	since  time.Time
	closed atomic.Bool // a fast path: while true, only a failure changes it, never the passing of time
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

// allow asks for permission to make one call. The caller reports the result of the call with done. If done is nil, the
// call may not be made now.
func (b *breaker) allow() (done func(error)) {
	done, err := b.cb.Allow()
	if err != nil {
		return nil
	}
	return done
}

// breakerView is the state of a breaker at one moment.
type breakerView struct {
	state BreakerState
	since time.Time
	until time.Time // if open: when it will be half open
}

// look returns the present state. look may find that the open time has passed.
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
		v.state, v.until = Open, b.since.Add(b.open+time.Nanosecond) // it becomes half open after that moment, not at it
	case gobreaker.StateHalfOpen:
		v.state = HalfOpen
	default:
		v.state = Closed
	}
	return v
}

// failures returns how many calls have failed in a row.
func (b *breaker) failures() int { return int(b.cb.Counts().ConsecutiveFailures) }

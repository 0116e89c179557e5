package push

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// soon is how far ahead deliveries are claimed that a rate holds up.
const soon = 250 * time.Millisecond

// limits say when the sink may be called. The loop alone uses them.
type limits struct {
	rate *rate.Limiter
	held time.Time // the channel has asked to be left alone until then
}

func newLimits(o *Options) limits { return limits{rate: rate.NewLimiter(o.Rate, o.Burst)} }

// hold obeys a Retry-After, and tells whether that is news.
func (l *limits) hold(now time.Time, d time.Duration) bool {
	news := !now.Before(l.held)
	if until := now.Add(d); until.After(l.held) {
		l.held = until
	}
	return news
}

// take asks for one call.
func (l *limits) take(now time.Time) bool { return l.rate.AllowN(now, 1) }

// calls is how many calls the rate permits up to a time.
func (l *limits) calls(until time.Time) int {
	if l.rate.Limit() == rate.Inf {
		return math.MaxInt32
	}
	return max(0, int(l.rate.TokensAt(until)))
}

// ready is how long it takes until the rate permits a call.
func (l *limits) ready(now time.Time) time.Duration {
	missing := 1 - l.rate.TokensAt(now)
	if l.rate.Limit() == rate.Inf || missing <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(missing / float64(l.rate.Limit()) * float64(time.Second)))
}

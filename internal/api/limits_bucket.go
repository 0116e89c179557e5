package api

import (
	"time"

	"golang.org/x/time/rate"
)

// tellEvery is how often the log tells of a caller that goes on asking too often.
const tellEvery = time.Minute

// bucket is what a caller may still ask.
type bucket struct {
	*rate.Limiter

	told time.Time
}

// take returns how long the caller has to wait, 0 where it need not.
func (b *bucket) take(now time.Time) time.Duration {
	r := b.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// news tells whether the log should hear of it.
func (b *bucket) news(now time.Time) bool {
	if now.Sub(b.told) < tellEvery {
		return false
	}
	b.told = now
	return true
}

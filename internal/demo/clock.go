package demo

import "time"

// Clock is the warehouse's time: it runs speed times as fast as the wall clock. The engine takes it for
// its own, so the rules keep the schedules that they would have on a site.
type Clock struct {
	start  time.Time // of the warehouse's time
	origin time.Time // the same moment on the wall clock, with its monotonic reading
	speed  float64
}

// NewClock starts a clock that shows start now.
func NewClock(start time.Time, speed float64) *Clock {
	return &Clock{start: start.Round(0), origin: time.Now(), speed: speed}
}

// Now returns the warehouse's time.
func (c *Clock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.origin)) * c.speed))
}

// Real returns how long d of the warehouse's time takes on the wall clock.
func (c *Clock) Real(d time.Duration) time.Duration { return time.Duration(float64(d) / c.speed) }

// Span returns how far the warehouse's time goes in d of the wall clock.
func (c *Clock) Span(d time.Duration) time.Duration { return time.Duration(float64(d) * c.speed) }

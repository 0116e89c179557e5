package engine

import "time"

// Clock is the engine's time. Due times, :now and the times of notices come from it; leases, polls and
// backoff run on the machine's timers, because they are about machines.
type Clock interface {
	Now() time.Time
	// Real returns how long d of the clock's time takes on the machine's timers: d itself, unless the
	// clock runs faster than the world, as in the demo.
	Real(d time.Duration) time.Duration
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the machine's time.
func (SystemClock) Now() time.Time { return time.Now() }

// Real returns d.
func (SystemClock) Real(d time.Duration) time.Duration { return d }

// stamp writes a time for people.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

package engine

import (
	"context"
	"time"
)

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

// pause waits for d, or shorter when work ends or stop is closed; it tells whether the whole time went by.
func pause(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	case <-ctx.Done():
		return false
	}
}

// until returns ctx with an earlier end: when stop is closed. It is for what need not be finished.
func until(ctx context.Context, stop <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

package engine

import (
	"context"
	"time"

	"tallyman/internal/retry"
)

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

// backoff waits from first to most, as package retry has it.
type backoff struct {
	first, most time.Duration
	pauses      *retry.Pauses
}

func (b *backoff) wait() time.Duration {
	if b.pauses == nil {
		b.pauses = retry.New(b.first, b.most)
	}
	return b.pauses.Next()
}

func (b *backoff) reset() { b.pauses = nil }

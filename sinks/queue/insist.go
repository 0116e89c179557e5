package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// insist calls f until it succeeds, finds that the epoch is over, or patience ends. Then the error is the last one that says more
// than that.
func (l *line) insist(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer from Redis within %s", patience))
	defer cancel()
	var trouble error
	for {
		err := f(ctx)
		if err == nil || epochIsOver(err) {
			l.trouble.Store(nil)
			return err
		}
		if trouble == nil || !errors.Is(err, context.DeadlineExceeded) {
			trouble = err
			l.trouble.Store(&err)
		}
		pause := time.NewTimer(retryPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return trouble
		}
	}
}

// because adds to the error of a caller whose time is over what the calls that it shares have met last.
func (l *line) because(err error) error {
	if trouble := l.trouble.Load(); trouble != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(*trouble, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", err, *trouble)
	}
	return err
}

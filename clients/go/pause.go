package tallyman

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
)

// pauses are the times between tries of one request. Each is random, so that the clients of a server do not come back together.
type pauses struct{ tries int }

// next is how long to wait after a try that failed: what the server asked for and up to a second more, or at random up to a bound that doubles.
func (p *pauses) next(err error) time.Duration {
	var problem *ProblemError
	if errors.As(err, &problem) && problem.RetryAfter > 0 {
		return problem.RetryAfter + rand.N(time.Second) //nolint:gosec // spreads clients
	}
	bound := min(firstPause<<min(p.tries, 10), longestPause)
	p.tries++
	return rand.N(bound) + 1 //nolint:gosec // spreads clients
}

// sleep waits, and tells whether the context is still good.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// insist tries until there is an answer that stands: none that is temporary. It ends with the context, with the error of the last try. told hears of each failure.
func insist(ctx context.Context, told func(err error, pause time.Duration), try func(ctx context.Context) error) error {
	var p pauses
	for {
		err := try(ctx)
		if err == nil || ctx.Err() != nil || !isTemporary(err) {
			return err
		}
		pause := p.next(err)
		told(err, pause)
		if !sleep(ctx, pause) {
			return err
		}
	}
}

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

// pauses has the pauses between attempts of one request. Pauses are random, so that the clients of a server do not all
// come back at once.
type pauses struct{ tries int }

// next returns the pause after a failed attempt: the pause that the server asked for plus up to one second, or a random
// time up to a bound. The bound doubles with each attempt, up to longestPause.
func (p *pauses) next(err error) time.Duration {
	var problem *ProblemError
	if errors.As(err, &problem) && problem.RetryAfter > 0 {
		return problem.RetryAfter + rand.N(time.Second) //nolint:gosec // spreads clients
	}
	bound := min(firstPause<<min(p.tries, 10), longestPause)
	p.tries++
	return rand.N(bound) + 1 //nolint:gosec // spreads clients
}

// sleep waits, and returns whether the context is still valid.
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

// insist repeats try until try returns nil or an error that is not temporary. When the context ends, insist returns the
// error of the last attempt. retrying is called before the pause after each failed attempt.
func insist(ctx context.Context, retrying func(err error, pause time.Duration), try func(ctx context.Context) error) error {
	var p pauses
	for {
		err := try(ctx)
		if err == nil || ctx.Err() != nil || !isTemporary(err) {
			return err
		}
		pause := p.next(err)
		retrying(err, pause)
		if !sleep(ctx, pause) {
			return err
		}
	}
}

package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLost says that the generation ended under an operation, which may be tried again in the next.
var ErrLost = errors.New("index: the epoch is over")

// Serve calls f with the generation in force until it succeeds in one that lasted, for as long as Patience says; then the
// error is Options.Unavailable. f answers ErrLost where it found out itself.
func (k *Keeper) Serve(ctx context.Context, f func(context.Context, *Generation) error) error {
	deadline := time.Now().Add(Patience)
	inner, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for {
		g, err := k.Await(ctx, deadline)
		if err != nil {
			return err
		}
		if err = f(inner, g); err == nil && k.Is(g) {
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || errors.Is(err, ErrLost):
			continue
		}
		pause := time.NewTimer(retryPause)
		select {
		case <-inner.Done():
			pause.Stop()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: %w", k.o.Unavailable, err)
		case <-pause.C:
		}
	}
}

// Await returns the generation in force, waiting for one until the deadline; then the error is Options.Unavailable.
func (k *Keeper) Await(ctx context.Context, deadline time.Time) (*Generation, error) {
	g, changed, cause := k.generations.get()
	if g != nil {
		return g, nil
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	for g == nil {
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, fmt.Errorf("%w: %w", k.o.Unavailable, cause)
		}
		g, changed, cause = k.generations.get()
	}
	return g, nil
}

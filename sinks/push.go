package sinks

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/delivery"
)

// Pusher is a push channel: it hands notices to a system that is not ours. Package delivery calls it, under the
// strategies and limits of the sink.
type Pusher interface {
	// Push hands the deliveries over together (one, unless the sink is configured for batches) and answers for all of
	// them: nil once the other side has taken them. It is called from many goroutines and ends with ctx. A *RefusedError
	// names those that will never be taken; the others of the batch were not taken either. Every other error is
	// transient, and a *LaterError says when to come back. No error holds a secret.
	Push(ctx context.Context, batch []delivery.Delivery) error
}

// LaterError is a transient error of a channel that asks to be left alone for a while (Retry-After).
type LaterError struct {
	After time.Duration
	Err   error
}

// Error tells the cause and for how long.
func (e *LaterError) Error() string { return fmt.Sprintf("%v; again in %s", e.Err, e.After) }

// Unwrap returns the cause.
func (e *LaterError) Unwrap() error { return e.Err }

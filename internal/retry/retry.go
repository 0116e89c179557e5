package retry

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Pauses are the pauses between attempts. One goroutine uses them at a time.
type Pauses struct {
	policy backoff.ExponentialBackOff
	failed bool
}

// New makes pauses from first to longest.
func New(first, longest time.Duration) *Pauses {
	// A third around three quarters is half of the whole to the whole.
	const middle, around = 0.75, 1.0 / 3
	return &Pauses{policy: backoff.ExponentialBackOff{
		InitialInterval: time.Duration(middle * float64(first)), MaxInterval: time.Duration(middle * float64(longest)),
		Multiplier: 2, RandomizationFactor: around,
	}}
}

// Next is how long to wait after an attempt that failed.
func (p *Pauses) Next() time.Duration {
	p.failed = true
	return p.policy.NextBackOff()
}

// HasFailed tells whether an attempt has failed since the start or the last Reset.
func (p *Pauses) HasFailed() bool { return p.failed }

// Reset begins anew: an attempt went well.
func (p *Pauses) Reset() {
	p.failed = false
	p.policy.Reset()
}

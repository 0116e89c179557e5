package retry

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Pauses are the pauses between attempts. Only one goroutine may use them at a time.
type Pauses struct {
	policy backoff.ExponentialBackOff
	failed bool
}

// New returns pauses that grow from first to longest.
func New(first, longest time.Duration) *Pauses {
	// Three quarters, plus or minus a third of that, is between half of the pause and the whole.
	const middle, around = 0.75, 1.0 / 3
	return &Pauses{policy: backoff.ExponentialBackOff{
		InitialInterval: time.Duration(middle * float64(first)), MaxInterval: time.Duration(middle * float64(longest)),
		Multiplier: 2, RandomizationFactor: around,
	}}
}

// Next returns how long to wait after a failed attempt.
func (p *Pauses) Next() time.Duration {
	p.failed = true
	return p.policy.NextBackOff()
}

// HasFailed tells whether an attempt has failed since the start or the last Reset.
func (p *Pauses) HasFailed() bool { return p.failed }

// Reset forgets the failures, after an attempt that succeeded.
func (p *Pauses) Reset() {
	p.failed = false
	p.policy.Reset()
}

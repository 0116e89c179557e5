package engine

import (
	"log/slog"
	"sync"
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

// mostSkew is by how much a node's clock may differ from the ledger's without a word.
const mostSkew = 5 * time.Second

// skew tells of a machine whose clock is wrong. One that is ahead runs firings before their time, and no node
// runs them again; one that is behind leaves them to the others.
type skew struct {
	log  *slog.Logger
	mu   sync.Mutex
	told time.Time
}

// compare is told both clocks' times of one moment. It warns once a minute at most.
func (s *skew) compare(node, ledger time.Time) {
	ahead := node.Sub(ledger)
	if ahead.Abs() <= mostSkew {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told.IsZero() && time.Since(s.told) < time.Minute {
		return
	}
	s.told = time.Now()
	s.log.Error("the clock of this node differs from the ledger's", "ahead", ahead, "node", node, "ledger", ledger)
}

package app

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"tallyman/engine"
)

const (
	clockEvery   = time.Second     // how often a node asks the ledger what time it is
	clockTimeout = 5 * time.Second // for one answer
	mostWrong    = 5 * time.Second // by so much may a machine's clock be wrong without a word
	wrongEvery   = time.Minute     // how often there is a word
)

// sharedClock is the time that the nodes of a ledger share: the ledger's, as this node knows it. In between it goes on by the machine's timer, so
// that it does not matter how the machine's clock is set, nor when.
type sharedClock struct {
	machine engine.Clock
	ask     func(context.Context) (time.Time, error)
	log     *slog.Logger

	shown time.Time    // by the machine's clock, once
	began time.Time    // the same moment, with the reading of the timer
	ahead atomic.Int64 // by how much the ledger is ahead of what would be shown now, ns

	told time.Time // when there was a word, with the reading of the timer
}

func newClock(machine engine.Clock, ask func(context.Context) (time.Time, error), log *slog.Logger) *sharedClock {
	return &sharedClock{machine: machine, ask: ask, log: log, shown: machine.Now().Round(0), began: time.Now()}
}

// Now returns the ledger's time.
func (c *sharedClock) Now() time.Time {
	return c.shown.Add(time.Since(c.began) + time.Duration(c.ahead.Load()))
}

// Real returns how long d takes on the machine's timer.
func (c *sharedClock) Real(d time.Duration) time.Duration { return c.machine.Real(d) }

// run stays with the ledger's clock until the context ends. While the ledger is away, which others tell, the timer has to do.
func (c *sharedClock) run(ctx context.Context) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if c.compare(ctx) == nil {
				c.warn()
			}
		}
	}
}

// compare asks the ledger. Its answer is from some moment between question and answer: a time that may be right is left as it is.
func (c *sharedClock) compare(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, clockTimeout)
	defer done()
	asked := c.Now()
	ledger, err := c.ask(ctx)
	if err != nil {
		return err
	}
	answered := c.Now()
	switch {
	case ledger.Before(asked):
		c.ahead.Add(int64(ledger.Sub(asked)))
	case ledger.After(answered):
		c.ahead.Add(int64(ledger.Sub(answered)))
	}
	return nil
}

// warn tells of a machine whose clock is wrong: logs, and the ends of tokens and certificates, go by it.
func (c *sharedClock) warn() {
	now := c.Now()
	ahead := c.machine.Now().Sub(now)
	if ahead.Abs() <= mostWrong || !c.told.IsZero() && time.Since(c.told) < wrongEvery {
		return
	}
	c.told = time.Now()
	c.log.Error("the clock of this machine is wrong: it differs from the ledger's, which rules go by", "ahead", ahead, "ledger", now)
}

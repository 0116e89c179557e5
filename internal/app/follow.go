package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"tallyman/engine"
	"tallyman/internal/api/operate"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/silence"
)

const (
	followEvery   = 200 * time.Millisecond
	followTimeout = 5 * time.Second // for one question to the ledger, or one thing that is read again
)

// follower keeps in step with the ledger what a node has in memory of it.
type follower struct {
	ledger ledger.Numbers
	log    *slog.Logger
	list   []*followed
	failed bool // the last question was not answered
}

// followed is one kind of thing; see ledger.Numbers.
type followed struct {
	name  string // of its number
	known int64
	read  func(context.Context) error
}

// add reads it now, and again whenever its number has grown. Call it before run.
func (f *follower) add(ctx context.Context, name string, read func(context.Context) error) error {
	numbers, err := f.ledger.Numbers(ctx)
	if err != nil {
		return fmt.Errorf("the ledger's number %s: %w", name, err)
	}
	known, ok := numbers[name]
	if !ok {
		return fmt.Errorf("the ledger has no number %s", name)
	}
	if err := read(ctx); err != nil {
		return err
	}
	f.list = append(f.list, &followed{name: name, known: known, read: read})
	return nil
}

// run follows until the context ends. What cannot be read stays as it was, and is read again.
func (f *follower) run(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := f.look(ctx); err != nil && ctx.Err() == nil && !f.failed {
			f.failed = true
			f.log.Warn("what other nodes have changed is not seen", "error", err)
		} else if err == nil {
			f.failed = false
		}
	}
}

// look reads what has changed. One thing that cannot be read keeps no other back.
func (f *follower) look(ctx context.Context) error {
	var numbers map[string]int64
	err := within(ctx, func(ctx context.Context) (err error) {
		numbers, err = f.ledger.Numbers(ctx)
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range f.list {
		now := numbers[one.name]
		if now == one.known {
			continue
		}
		if err := within(ctx, one.read); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", one.name, err))
			continue
		}
		one.known = now
	}
	return errors.Join(errs...)
}

// within asks for as long as one question may take.
func within(ctx context.Context, ask func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, followTimeout)
	defer done()
	return ask(ctx)
}

// openSilences reads the silences, and again whenever one is added or ended anywhere.
func (a *App) openSilences(ctx context.Context) error {
	return a.follow.add(ctx, "silences", a.readSilences)
}

// readSilences makes those the ledger has the ones that count on this node.
func (a *App) readSilences(ctx context.Context) error {
	err := a.silences.Refresh(func() ([]silence.Silence, error) { return a.ledger.Silences(ctx) })
	if err != nil {
		return fmt.Errorf("read the silences: %w", err)
	}
	return nil
}

// silenced names the silence that holds back the deliveries of a notice, and for how much longer it does on the machine's clock. It is the one
// that lasts longest: if somebody ends it, the next is asked for.
func (a *App) silenced(n *notice.Notice) (id string, left time.Duration) {
	now := a.opts.Clock.Now()
	holding := a.silences.Holding(now, &silence.Subject{
		Rule: n.Rule, Type: n.Type, Warehouse: n.Warehouse, Scope: n.Scope, Labels: n.Labels,
	})
	if len(holding) == 0 {
		return "", 0
	}
	return holding[0].ID, a.opts.Clock.Real(holding[0].Until.Sub(now))
}

func (a *App) servedSilences() operate.Silences {
	return operate.Silences{Ledger: a.ledger, Now: a.opts.Clock.Now, Changed: a.readSilences}
}

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

package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tallyman/engine"
	"tallyman/internal/api/operate"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
)

const (
	clockEvery   = time.Second      // how often a node asks the ledger what time it is
	clockTimeout = 5 * time.Second  // for one answer
	mostBack     = 5 * time.Second  // a ledger's clock that goes back by more begins a new term
	mostAhead    = time.Hour        // what a ledger's clock goes ahead by more is withheld until an operator confirms it
	clockSettles = 3                // so many looks, each of which agrees, before a node vouches for a clock that is far ahead of what nodes have seen
	mostWrong    = 5 * time.Second  // by so much may a machine's clock be wrong without a word
	wrongEvery   = time.Minute      // how often there is a word
	longestLease = 10 * time.Minute // no claim of an earlier term outlives the beginning of the next one by more
)

// sharedClock is the time that the nodes of a ledger go by: the ledger's clock, as this node knows it. In between it
// goes on by the machine's timer, so that it does not matter how the machine's clock is set, nor when.
// docs/adr/clock-terms.md tells what becomes of a ledger's clock that is set.
type sharedClock struct {
	machine engine.Clock
	ledger  ledger.Clock
	who     ledger.Author
	log     *slog.Logger
	timer   func() time.Duration // goes on steadily; tests replace it
	now     atomic.Pointer[clockReading]

	mu     sync.Mutex // held while the ledger is asked
	agreed int        // looks in a row that have agreed with the timer
	told   time.Time  // when there was a word of the machine's clock, with the reading of the timer
}

// clockReading is how the clock stood at one moment of the timer. It never changes.
type clockReading struct {
	state ledger.ClockState
	at    time.Duration // the moment
	shown time.Time     // the ledger's time that nodes go by, at that moment
	lead  time.Duration // how far the node was ahead of that: it goes at half the pace until the ledger has caught up
	ended chan struct{} // closed when the clock term has ended
}

// time is what the node goes by at a moment of the timer.
func (r *clockReading) time(at time.Duration) time.Time {
	passed := at - r.at
	return r.shown.Add(passed + max(r.lead-passed/2, 0))
}

// newClock asks the ledger what time it is. others tells whether other nodes may run: then a node that finds the clock
// far ahead of what nodes have seen waits, in case one of them objects.
func newClock(ctx context.Context, machine engine.Clock, l ledger.Clock, who ledger.Author, others bool, log *slog.Logger) (*sharedClock, error) {
	began := time.Now()
	c := &sharedClock{machine: machine, ledger: l, who: who, log: log, timer: func() time.Duration { return time.Since(began) }}
	return c, c.start(ctx, others)
}

// start takes up the ledger's clock. Where it shows less than nodes have seen, it went back while no node ran.
func (c *sharedClock) start(ctx context.Context, others bool) error {
	state, err := c.read(ctx)
	if err != nil {
		return err
	}
	if ahead := state.Now().Sub(state.Seen); others && !state.Seen.IsZero() && ahead > mostAhead {
		if err := sleep(ctx, clockSettles*clockEvery); err != nil {
			return err
		}
		if state, err = c.read(ctx); err != nil {
			return err
		}
	}
	for state.Seen.Sub(state.Now()) > mostBack {
		if err := c.wentBack(ctx, &state, state.Seen); err != nil {
			return err
		}
		if state, err = c.read(ctx); err != nil {
			return err
		}
	}
	c.now.Store(&clockReading{state: state, at: c.timer(), shown: state.Now(), ended: make(chan struct{})})
	return c.see(ctx, &state)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

func (c *sharedClock) read(ctx context.Context) (ledger.ClockState, error) {
	ctx, done := context.WithTimeout(ctx, clockTimeout)
	defer done()
	state, err := c.ledger.ReadClock(ctx)
	if err != nil {
		return state, fmt.Errorf("read the ledger's clock: %w", err)
	}
	return state, nil
}

// Now returns the time that nodes go by. It goes back only where a new term begins.
func (c *sharedClock) Now() time.Time { return c.now.Load().time(c.timer()) }

// Real returns how long d takes on the machine's timer.
func (c *sharedClock) Real(d time.Duration) time.Duration { return c.machine.Real(d) }

// Term implements engine.Terms.
func (c *sharedClock) Term() (ledger.Term, <-chan struct{}) {
	r := c.now.Load()
	return r.state.Term, r.ended
}

// state is how the ledger's clock stood when it was asked last.
func (c *sharedClock) state() ledger.ClockState { return c.now.Load().state }

// run stays with the ledger's clock until the context ends. While the ledger is away, which others tell, the timer has
// to do.
func (c *sharedClock) run(ctx context.Context) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := c.look(ctx); err != nil {
				c.log.Debug("the ledger's clock could not be read; the machine's timer goes on", "error", err)
				continue
			}
			c.warn()
		}
	}
}

// look asks the ledger, and tells the ledger where its clock was set.
func (c *sharedClock) look(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	const attempts = 3 // what a node has told the ledger, all read, this one too
	for range attempts {
		asked := c.timer()
		state, err := c.read(ctx)
		if err != nil {
			return err
		}
		answered := c.timer()
		known := c.now.Load()
		if state.Number != known.state.Number || state.Withheld != known.state.Withheld {
			c.adopt(&state, answered)
			return nil
		}
		// The answer is from some moment between question and answer.
		switch shown := state.Now(); {
		case known.time(asked).Sub(shown) > mostBack:
			err = c.wentBack(ctx, &state, known.time(asked))
		case shown.Sub(known.time(answered)) > mostAhead && !state.Seen.After(known.time(answered).Add(mostAhead)):
			err = c.wentAhead(ctx, &state, known.time(answered))
		default:
			c.follow(&state, asked, answered)
			return c.see(ctx, &state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// adopt takes up a clock with another term, or of which another part is withheld.
func (c *sharedClock) adopt(state *ledger.ClockState, at time.Duration) {
	known := c.now.Load()
	next := &clockReading{state: *state, at: at, shown: state.Now(), ended: known.ended}
	isNew := state.Number != known.state.Number
	if isNew {
		next.ended = make(chan struct{})
	} else { // a clock that was set right may show a little less than before
		next.lead = min(max(known.time(at).Sub(next.shown), 0), mostBack)
	}
	c.agreed = 0
	c.now.Store(next)
	switch {
	case isNew:
		close(known.ended)
		c.log.Error("the ledger's clock went back: a new clock term has begun, and rules go on from there",
			"back", state.Back, "term", state.Number, "began", state.Began)
	case state.Withheld > 0:
		c.log.Error("the ledger's clock went ahead: nodes go by the time before, and nothing expires by the new one, until an operator confirms the clock",
			"ahead", state.Withheld, "clock", state.Machine, "nodes", state.Now(), "remedy", "set the clock right, or run: tallyman clock confirm")
	default:
		c.log.Warn("the ledger's clock is confirmed, or was set right: nothing of it is withheld any more", "clock", state.Machine)
	}
}

// follow keeps to the ledger's clock. A time that may be right is left as it is. Where the ledger is behind, the node's
// time goes at half the pace until the ledger has caught up: it never goes back.
func (c *sharedClock) follow(state *ledger.ClockState, asked, answered time.Duration) {
	known := c.now.Load()
	next := &clockReading{state: *state, at: answered, ended: known.ended}
	first, last := known.shown.Add(asked-known.at), known.shown.Add(answered-known.at)
	next.shown = last
	switch shown := state.Now(); {
	case shown.Before(first):
		next.shown = last.Add(shown.Sub(first))
	case shown.After(last):
		next.shown = shown
	}
	next.lead = max(known.time(answered).Sub(next.shown), 0)
	c.agreed++
	c.now.Store(next)
}

// see records what nodes have seen, once a second for all of them. A node that has just come waits with a clock that is
// far ahead: the others object in a second if it went ahead while they ran.
func (c *sharedClock) see(ctx context.Context, state *ledger.ClockState) error {
	ahead := state.Now().Sub(state.Seen)
	if ahead < clockEvery || !state.Seen.IsZero() && ahead > mostAhead && c.agreed < clockSettles {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, clockTimeout)
	defer done()
	if err := c.ledger.SeeTime(ctx, *state); err != nil {
		return fmt.Errorf("record what time it is: %w", err)
	}
	return nil
}

// wentBack begins a new term, as nodes had come to that time. A clock that went ahead before, and of which a part is
// withheld, may merely have come back.
func (c *sharedClock) wentBack(ctx context.Context, state *ledger.ClockState, reached time.Time) error {
	ctx, done := context.WithTimeout(ctx, clockTimeout)
	defer done()
	var err error
	if ahead := state.Machine.Sub(reached); state.Withheld > 0 && ahead >= -mostBack {
		if ahead <= mostAhead {
			ahead = 0
		}
		_, err = c.ledger.WithholdClock(ctx, c.who, *state, ahead)
	} else {
		_, err = c.ledger.BeginTerm(ctx, c.who, *state, -ahead, longestLease)
	}
	if err != nil {
		return fmt.Errorf("the ledger's clock went back, and cannot be told so: %w", err)
	}
	return nil
}

// wentAhead withholds what the clock is ahead of the time that nodes had come to.
func (c *sharedClock) wentAhead(ctx context.Context, state *ledger.ClockState, reached time.Time) error {
	ctx, done := context.WithTimeout(ctx, clockTimeout)
	defer done()
	if state.Withheld == 0 {
		state.Since = reached
	}
	if _, err := c.ledger.WithholdClock(ctx, c.who, *state, state.Machine.Sub(reached)); err != nil {
		return fmt.Errorf("the ledger's clock went ahead, and cannot be told so: %w", err)
	}
	return nil
}

// unconfirmed is why an operator should look at a clock: a part of it is withheld.
func unconfirmed(state *ledger.ClockState) error {
	if state.Withheld == 0 {
		return nil
	}
	return fmt.Errorf("clock_unconfirmed: the ledger's clock went ahead by %s and shows %s; nodes go by the time before, and nothing expires or is pruned by "+
		"the new one; set the clock of the ledger's server right, or confirm it: tallyman clock confirm",
		state.Withheld.Round(time.Second), state.Machine.UTC().Format(time.RFC3339))
}

// warn tells of a machine whose clock is wrong: logs, and the ends of tokens and certificates, go by it.
func (c *sharedClock) warn() {
	now := c.Now()
	ahead := c.machine.Now().Sub(now)
	if ahead.Abs() <= mostWrong || c.state().Withheld > 0 || !c.told.IsZero() && time.Since(c.told) < wrongEvery {
		return
	}
	c.told = time.Now()
	c.log.Error("the clock of this machine is wrong: it differs from the ledger's, which rules go by", "ahead", ahead, "ledger", now)
}

// openClock has the node go by the ledger's clock. The clock of an SQLite is that of the machine, but for the demo,
// which has its own.
func (a *App) openClock(ctx context.Context) error {
	shared := a.cfg.Ledger.Driver == config.Postgres
	if _, isMachine := a.opts.Clock.(engine.SystemClock); !shared && !isMachine {
		return nil
	}
	clock, err := newClock(ctx, a.opts.Clock, a.ledger, nodeAuthor(a.opts.Node, ledger.ViaClock), shared, a.log)
	if err != nil {
		return err
	}
	a.clock, a.opts.Clock = clock, clock
	return nil
}

// clockFault is why an operator should look at the ledger's clock.
func (a *App) clockFault() error {
	if a.clock == nil {
		return nil
	}
	state := a.clock.state()
	return unconfirmed(&state)
}

// servedClock is what the API serves of the clock.
func (a *App) servedClock() operate.Clock {
	return operate.Clock{
		Ledger: a.ledger, Now: a.nodeTime, Machine: time.Now, Rate: float64(time.Hour) / float64(a.opts.Clock.Real(time.Hour)),
		Changed: func(ctx context.Context) error {
			if a.clock == nil {
				return nil
			}
			return a.clock.look(ctx)
		},
	}
}

// nodeTime is what the node goes by.
func (a *App) nodeTime() time.Time { return a.opts.Clock.Now() }

func (a *App) terms() engine.Terms {
	if a.clock == nil {
		return nil
	}
	return a.clock
}

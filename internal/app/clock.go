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
	clockEvery   = time.Second     // How often a node reads the ledger's clock.
	clockTimeout = 5 * time.Second // The time limit of one read.
	mostBack     = 5 * time.Second // A ledger's clock that goes back by more than this begins a new clock term.
	mostAhead    = time.Hour       // A jump ahead by more than this is withheld until an operator confirms the clock.
	// Reads in a row that must agree before a node records a clock far ahead of the seen time.
	clockSettles = 3
	mostWrong    = 5 * time.Second  // The machine's clock may differ by this much without an error in the log.
	wrongEvery   = time.Minute      // How often the log has that error.
	longestLease = 10 * time.Minute // No claim of an earlier term outlives the beginning of the next one by more than this.
)

// sharedClock is the clock that all nodes of a ledger go by: the ledger's clock, as this node knows it. Between two
// reads it goes on by the machine's timer. So it does not matter how or when the machine's clock is set.
// docs/adr/clock-terms.md describes what happens when the ledger's clock is set.
type sharedClock struct {
	machine engine.Clock
	ledger  ledger.Clock
	who     ledger.Author
	log     *slog.Logger
	timer   func() time.Duration // A monotonic timer. Tests replace it.
	now     atomic.Pointer[clockReading]

	mu     sync.Mutex // Held while the ledger is asked.
	agreed int        // The number of reads in a row that agree with the timer.
	warned time.Time  // When warn last logged an error, on the monotonic clock.
}

// clockReading is the state of the clock at one moment of the timer. clockReading never changes.
type clockReading struct {
	state ledger.ClockState
	at    time.Duration // The moment of the timer.
	shown time.Time     // The ledger's time at that moment, without the part that is withheld.
	// How far this node was ahead of shown. The node goes at half the pace until the ledger has caught up.
	lead  time.Duration
	ended chan struct{} // Closed when the clock term has ended.
}

// time returns the time that the node goes by at a moment of the timer.
func (r *clockReading) time(at time.Duration) time.Time {
	passed := at - r.at
	return r.shown.Add(passed + max(r.lead-passed/2, 0))
}

// newClock reads the ledger's clock. others tells whether other nodes may run. If others is true and the clock is far
// ahead of the time that nodes have seen, newClock waits, because a running node may withhold the jump.
func newClock(ctx context.Context, machine engine.Clock, l ledger.Clock, who ledger.Author, others bool, log *slog.Logger) (*sharedClock, error) {
	began := time.Now()
	c := &sharedClock{machine: machine, ledger: l, who: who, log: log, timer: func() time.Duration { return time.Since(began) }}
	return c, c.start(ctx, others)
}

// start takes up the ledger's clock. A clock behind the time that nodes have seen went back while no node was running.
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

// Now returns the time that nodes go by. Now goes back only when a new clock term begins.
func (c *sharedClock) Now() time.Time { return c.now.Load().time(c.timer()) }

// Real returns how long d takes on the machine's timer.
func (c *sharedClock) Real(d time.Duration) time.Duration { return c.machine.Real(d) }

// Term implements engine.Terms.
func (c *sharedClock) Term() (ledger.Term, <-chan struct{}) {
	r := c.now.Load()
	return r.state.Term, r.ended
}

// state returns the last reading of the ledger's clock.
func (c *sharedClock) state() ledger.ClockState { return c.now.Load().state }

// run follows the ledger's clock until the context ends. While the ledger is out of reach, the timer goes on. Other
// parts of the node report that the ledger is out of reach.
func (c *sharedClock) run(ctx context.Context) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := c.look(ctx); err != nil {
				c.log.Debug("The ledger's clock was not read. The node goes on by the machine's timer.", "error", err)
				continue
			}
			c.warn()
		}
	}
}

// look reads the ledger's clock. Where somebody has set that clock, look records the jump in the ledger.
func (c *sharedClock) look(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	const attempts = 3 // After a record in the ledger the clock is read once more, as every other node does.
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
		// The ledger read its clock at some moment between asked and answered.
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

// adopt takes up a clock with another term, or with another part withheld.
func (c *sharedClock) adopt(state *ledger.ClockState, at time.Duration) {
	known := c.now.Load()
	next := &clockReading{state: *state, at: at, shown: state.Now(), ended: known.ended}
	isNew := state.Number != known.state.Number
	if isNew {
		next.ended = make(chan struct{})
	} else { // A corrected clock may be a little behind the node's time, which must not go back.
		next.lead = min(max(known.time(at).Sub(next.shown), 0), mostBack)
	}
	c.agreed = 0
	c.now.Store(next)
	switch {
	case isNew:
		close(known.ended)
		c.log.Error("The ledger's clock went back. A new clock term has begun, and the rules go on from its start.",
			"back", state.Back, "term", state.Number, "began", state.Began)
	case state.Withheld > 0:
		c.log.Error("The ledger's clock went ahead. Nodes go on with the earlier time, and nothing expires by the new time, until an operator confirms the clock.",
			"ahead", state.Withheld, "clock", state.Machine, "nodes", state.Now(), "remedy", "set the clock right, or run: tallyman clock confirm")
	default:
		c.log.Warn("The ledger's clock was confirmed or corrected. Nodes use the full time of the ledger's clock again.", "clock", state.Machine)
	}
}

// follow adjusts the node's time to the ledger's clock. The ledger has read its clock at some moment between asked and
// answered. If the ledger's time fits such a moment, follow makes no correction. If the ledger is behind, the node's
// time goes at half the pace until the ledger has caught up. The node's time never goes back.
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

// see records in the ledger the time that nodes have seen, once a second for all nodes together. If the clock is far
// ahead, see records nothing until clockSettles reads in a row have agreed. If the clock went ahead while other nodes
// were running, these nodes withhold the jump within a second.
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

// wentBack begins a new clock term. reached is the time that nodes had come to. Where a jump ahead is withheld, the
// clock may merely have been corrected: then wentBack reduces the withheld part instead.
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
		return fmt.Errorf("the ledger's clock went back, but the new clock term was not recorded: %w", err)
	}
	return nil
}

// wentAhead withholds the jump of a clock that is ahead. reached is the time that nodes had come to.
func (c *sharedClock) wentAhead(ctx context.Context, state *ledger.ClockState, reached time.Time) error {
	ctx, done := context.WithTimeout(ctx, clockTimeout)
	defer done()
	if state.Withheld == 0 {
		state.Since = reached
	}
	if _, err := c.ledger.WithholdClock(ctx, c.who, *state, state.Machine.Sub(reached)); err != nil {
		return fmt.Errorf("the ledger's clock went ahead, but the jump was not recorded: %w", err)
	}
	return nil
}

// unconfirmed returns an error where a part of the clock is withheld, so that an operator looks at it.
func unconfirmed(state *ledger.ClockState) error {
	if state.Withheld == 0 {
		return nil
	}
	return fmt.Errorf("clock_unconfirmed: the ledger's clock went ahead by %s and shows %s; nodes use the earlier time, and nothing expires or is pruned by "+
		"the new time; set the clock of the ledger's server right, or confirm the new time: tallyman clock confirm",
		state.Withheld.Round(time.Second), state.Machine.UTC().Format(time.RFC3339))
}

// warn logs an error where the machine's clock is wrong. Logs and the expiry of tokens and certificates go by that
// clock.
func (c *sharedClock) warn() {
	now := c.Now()
	ahead := c.machine.Now().Sub(now)
	if ahead.Abs() <= mostWrong || c.state().Withheld > 0 || !c.warned.IsZero() && time.Since(c.warned) < wrongEvery {
		return
	}
	c.warned = time.Now()
	c.log.Error("The clock of this machine differs from the ledger's clock, which rules go by. Set the machine's clock right.", "ahead", ahead, "ledger", now)
}

// openClock makes the node go by the ledger's clock. The clock of an SQLite ledger is the machine's. The demo has a
// clock of its own and needs no sharedClock.
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

// clockFault returns why an operator should look at the ledger's clock, or nil.
func (a *App) clockFault() error {
	if a.clock == nil {
		return nil
	}
	state := a.clock.state()
	return unconfirmed(&state)
}

// servedClock returns the API's view of the clock.
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

// nodeTime returns the time that the node goes by.
func (a *App) nodeTime() time.Time { return a.opts.Clock.Now() }

func (a *App) terms() engine.Terms {
	if a.clock == nil {
		return nil
	}
	return a.clock
}

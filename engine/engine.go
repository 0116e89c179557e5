package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/logging"
)

// Engine runs rules and delivers their notices. Make one with New.
type Engine struct {
	opts       Options
	log        *slog.Logger
	types      typeCache
	channels   map[string]judge.Channel // How notices are addressed to each sink, keyed by sink.
	workers    slots
	slots      map[string]slots // Keyed by source.
	gates      map[string]*gate // Keyed by source.
	share      share
	kins       kins
	scanGroups scanGroups
	hands      hands
	unpruned   atomic.Pointer[error]
	deliverer  map[string]*deliverer
	crew       crew
	timetable  *timetable
	sums       runSums
	progress   atomic.Pointer[map[string]ledger.Progress] // The ledger's last answer. Nil before the first.
	started    time.Time
	reading    sync.Mutex                   // Held while the switches are read and put in force.
	changed    chan struct{}                // Signalled when the crew has changed. Run starts the new units.
	removed    chan struct{}                // Signalled when rules may have been removed.
	left       chan struct{}                // Signalled when another node may have left firings.
	orders     chan *order                  // Firings that operators have asked for.
	closed     chan struct{}                // Closed when the engine takes no more orders.
	verified   logging.Burst                // Gathers the log lines about rules that are verified.
	unverified logging.Burst                // Gathers the log lines about rules that are not verified.
	resumed    logging.Burst                // Gathers the log lines about rules that run again.
	failures   map[string]*logging.Failures // Gathers the log lines about failed runs. Keyed by source.
}

// failuresWindow is the time for which a source has at most one log line about failed runs.
const failuresWindow = time.Minute

// New checks the options and prepares an engine. Nothing is read or run before Run.
func New(o Options) (*Engine, error) {
	opts := o.withDefaults()
	if err := errors.Join(opts.validate(), opts.validateRules(opts.Rules)); err != nil {
		return nil, err
	}
	opts.Ledger = boundedLedger{opts.Ledger, opts.Lease}
	e := &Engine{
		opts:      opts,
		log:       opts.Logger,
		types:     typeCache{ledger: opts.Ledger},
		channels:  opts.channels(),
		workers:   make(slots, opts.Workers),
		slots:     map[string]slots{},
		gates:     map[string]*gate{},
		deliverer: map[string]*deliverer{},
		failures:  map[string]*logging.Failures{},
		crew:      crew{ending: map[string]*unit{}},
		timetable: newTimetable(opts.Clock, opts.Terms, (*unit).work),
		started:   time.Now().UTC(),
		changed:   make(chan struct{}, 1),
		removed:   make(chan struct{}, 1),
		left:      make(chan struct{}, 1),
		orders:    make(chan *order),
		closed:    make(chan struct{}),
	}
	e.verified = logging.Burst{Window: verifiedWindow, Rest: func(n int) {
		e.log.Info("Rules were verified.", "count", n)
	}}
	e.unverified = logging.Burst{Window: unverifiedWindow, Own: mostUnverifiedLines, Rest: func(n int) {
		e.log.Warn("Further rules are unverified: they do not run.", "count", n)
	}}
	e.resumed = logging.Burst{Window: verifiedWindow, Rest: func(n int) {
		e.log.Info("Rules run again. Firings that were due while the rules were disabled are skipped.", "count", n)
	}}
	for name := range opts.Sources {
		e.failures[name] = &logging.Failures{Window: failuresWindow, Well: func() {
			e.log.Info("Runs on the source succeed again.", "source", name)
		}}
		e.slots[name] = make(slots, opts.perSource(name))
		e.gates[name] = &gate{places: min(opts.perSource(name), opts.Workers)}
	}
	if err := e.Replace(opts.Rules, opts.Complete); err != nil {
		return nil, err
	}
	for name, sink := range opts.Sinks {
		if !sink.Push {
			e.deliverer[name] = newDeliverer(e, name, sink.Sink)
		}
	}
	return e, nil
}

// Run runs the rules until ctx is over. Then it starts nothing new. It waits at most StopGrace for the runs to commit
// and for the delivery of their notices. Run then gives unfinished firings and lanes back to the ledger and returns
// nil. An engine runs once.
func (e *Engine) Run(ctx context.Context) error {
	stop := ctx.Done()
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()

	var runs, loops sync.WaitGroup
	committed := make(chan struct{}) // Closed when no run can commit any more.
	runs.Go(func() { e.supervise(work, stop, &runs) })
	loops.Go(func() { closer{e}.run(work, stop) })
	for _, d := range e.deliverer {
		loops.Go(func() { d.loop(work, committed) })
	}
	loops.Go(func() { e.reclaim(work, stop) })
	loops.Go(func() { e.sweep(work, stop) })

	<-stop
	grace := time.AfterFunc(e.opts.StopGrace, func() {
		e.log.Warn("The grace period is over. The node gives unfinished firings back to the ledger.")
		cancel()
	})
	defer grace.Stop()
	runs.Wait()
	close(committed)
	loops.Wait()
	e.verified.Flush()
	e.unverified.Flush()
	e.resumed.Flush()
	for _, f := range e.failures {
		f.Flush()
	}
	return nil
}

// Wake tells the delivery loops of this node that a commit has put deliveries into the lanes. Wake never blocks.
func (e *Engine) Wake(lanes []delivery.Lane) {
	for _, lane := range lanes {
		if d := e.deliverer[lane.Sink]; d != nil {
			d.wake(lane)
		} else if wake := e.opts.Sinks[lane.Sink].Wake; wake != nil {
			wake()
		}
	}
}

// Clock is the engine's time. Due times, :now and the times of notices come from the clock. Leases, polls and backoff
// run on the machine's timers, because they depend on how fast machines answer.
type Clock interface {
	Now() time.Time
	// Real returns how long d of the clock's time takes on the machine's timers. Real returns d itself, unless the
	// clock runs faster than the machine's clock, as in the demo.
	Real(d time.Duration) time.Duration
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the machine's time.
func (SystemClock) Now() time.Time { return time.Now() }

// Real returns d.
func (SystemClock) Real(d time.Duration) time.Duration { return d }

// Terms tells which clock term is in force. A new term begins when the ledger's clock went back.
type Terms interface {
	// Term returns the term, and a channel that is closed when the term has ended. A nil channel means that the term
	// never ends.
	Term() (ledger.Term, <-chan struct{})
}

// oneTerm is the Terms of a clock that never goes back.
type oneTerm struct{}

// Term returns the first term.
func (oneTerm) Term() (ledger.Term, <-chan struct{}) { return ledger.Term{}, nil }

// stamp formats a time for people.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// pause waits for d. pause returns false when ctx ends or stop is closed before d has passed.
func pause(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	case <-ctx.Done():
		return false
	}
}

// until returns a context that ends with ctx or when stop is closed. Use it for work that may be cut off at a stop.
func until(ctx context.Context, stop <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

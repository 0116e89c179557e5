package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

// Queue is a queue and its test twin.
type Queue struct {
	o        Options
	settings *liveSettings // of the queue and its twin
	log      *slog.Logger

	keeper *recovery.Keeper // one for both: their epochs begin together
	lines  [2]*queueLine    // the queue, its twin
	reads  *readScripts
	life   *lifeScripts

	drainers [2]*drainer // of the lines; nil without a ledger
	sweepers [2]*sweeper
}

// New returns a queue that waits for Run.
func New(o Options) (*Queue, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	q := &Queue{o: o, settings: newLiveSettings(o.Settings), log: o.Logger.With("queue", o.Name), reads: newReadScripts(), life: newLifeScripts()}
	for i, test := range []bool{false, true} {
		if q.lines[i], err = newLine(&q.o, q.settings, test); err != nil {
			return nil, err
		}
	}
	if err := q.live(); err != nil {
		return nil, err
	}
	return q, nil
}

// line is the queue itself or its twin.
func (q *Queue) line(test bool) *queueLine {
	if test {
		return q.lines[1]
	}
	return q.lines[0]
}

// live gives the queue what keeps it going.
func (q *Queue) live() error {
	k := q.lines[0].keys
	o := recovery.Options{
		Client: q.o.Client, Watch: q.o.Watch, Contents: rebuilder{q}, Session: q.o.Session, Sink: q.o.Name,
		EpochKey: k.epoch(), Channel: k.hints(), Logger: q.log,
	}
	if q.o.Ledger != nil {
		o.Ledger, o.Salvage = q.o.Ledger, q.salvage
		o.Lineage, o.OnRestore = q.o.Lineage, q.o.OnRestore
	}
	var err error
	if q.keeper, err = recovery.New(o); err != nil || q.o.Ledger == nil {
		return err
	}
	for i, l := range q.lines {
		log := q.log.With("test", l.test)
		q.drainers[i] = newDrainer(l, q.life, q.keeper, log)
		q.sweepers[i] = newSweeper(q, l, q.drainers[i], log)
	}
	return nil
}

// Run keeps the queue and its twin going until the context ends: it checks that Redis is still what it was and writes the queue
// back if not, does what is due, takes what has moved into the ledger, looks for what got lost on the way, and listens for hints. What goes
// wrong is logged and tried again. What has moved before the context ends is in the ledger when Run returns, unless that
// takes longer than 3 s; calls under way whose callers have left are over, too.
func (q *Queue) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { q.keeper.Run(ctx) })
	wg.Go(func() { q.listen(ctx) })
	for _, l := range q.lines {
		wg.Go(func() { q.promote(ctx, l) })
	}
	for i, d := range q.drainers {
		if d != nil {
			wg.Go(func() { d.run(ctx) })
			wg.Go(func() { q.sweepers[i].run(ctx) })
		}
	}
	wg.Wait()
	for _, l := range q.lines {
		l.commits.Rest()
		l.enqueues.Rest()
		l.steps.Rest()
	}
	for _, d := range q.drainers {
		if d != nil {
			wg.Go(func() { d.finish(ctx) })
		}
	}
	wg.Wait()
}

// Ready returns nil while the queue serves, otherwise the reason why it does not.
func (q *Queue) Ready() error {
	if err := q.keeper.Ready(); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// Check asks Redis what a site must not leave to chance, before anything is served. The error is recovery.ErrEvicts, or that Redis
// is out of reach.
func (q *Queue) Check(ctx context.Context) error { return q.keeper.Check(ctx) }

var (
	// errBacklog says that so much waits for its way into the ledger that nothing more is taken; step.lua says it.
	errBacklog = errors.New("queue: too much waits for its way into the ledger")
	// errToken says that another repair has begun; enqueue.lua says it.
	errToken = errors.New("queue: another repair has begun")

	errAnswer = errors.New("queue: a script's answer is not as its header says")
)

// known gives the errors of our own scripts their types.
func known(err error) error {
	if err == nil {
		return nil
	}
	for begin, own := range map[string]error{"BACKLOG ": errBacklog, "TOKEN ": errToken} {
		if rest, ok := strings.CutPrefix(err.Error(), begin); ok {
			return fmt.Errorf("%w (%s)", own, rest)
		}
	}
	return recovery.Known(err)
}

// epochIsOver tells whether Redis is at another epoch than was believed.
func epochIsOver(err error) bool {
	_, ok := errors.AsType[*recovery.EpochError](err)
	return ok
}

// lost ends the generation if the error says that it is over; then Serve may try again in the next.
func (q *Queue) lost(g *recovery.Generation, err error) error {
	if !epochIsOver(err) {
		return err
	}
	q.keeper.Lose(g, err)
	return fmt.Errorf("%w: %w", recovery.ErrLost, err)
}

func invalid(field string, index int, format string, args ...any) error {
	return &item.InvalidError{Field: field, Index: index, Message: fmt.Sprintf(format, args...)}
}

// Ledger is what a queue needs of the ledger. A twin is a queue of its own there: its name ends in ":test".
type Ledger interface {
	delivery.IndexRecord
	item.Journal
	item.Withholding
	item.SettingsRecord
	Records
}

// Records is what the ledger tells of items to those who look.
type Records interface{ item.Records }

// Options is what a queue is made of.
type Options struct {
	Client  redis.UniversalClient // needed; its OnConnect must be that of Watch
	Watch   *recovery.Watch       // needed
	Ledger  Ledger                // nil = Redis alone: nothing survives its loss, and there is no trace
	Node    string                // needed: the node's name, which traces of items show
	Session delivery.Session      // in whose name the index is written back; needed with a ledger
	Prefix  string                // of every key, as redis.prefix says; without braces
	Name    string                // needed: the sink's name in the configuration
	Logger  *slog.Logger          // none by default
	// Lineage and OnRestore are those of recovery.Options.
	Lineage   recovery.Lineage
	OnRestore func(ctx context.Context, r recovery.Restore) error

	item.Settings                // of the configuration; the lease is needed
	Timezone      *time.Location // of the windows that are days; UTC by default
	Dedupe        Window         // until the item has ended by default
	OnRepeat      OnRepeat       // RepeatUpdates by default
	Events        *item.Events   // of which a push channel is told; not of those of the twin. Nil = of none

	// Now replaces the server's clock. For tests alone: nodes whose clocks differ would see leases end at different times.
	Now func() time.Time
}

// The defaults and the limits of the design.
const (
	DefaultLease       = 60 * time.Second
	DefaultMaxAttempts = 5

	MaxLease = 24 * time.Hour
	MaxWait  = 60 * time.Second
	MaxDelay = 366 * 24 * time.Hour

	callTimeout  = recovery.CallTimeout   // also of a call to the ledger
	retryPause   = 50 * time.Millisecond  // between two tries
	lookEvery    = 5 * time.Second        // how often one who waits asks, whatever hints come
	drainEvery   = 100 * time.Millisecond // how long a move waits for its way into the ledger, about
	maxReclaimed = 1000                   // leases taken back, or items made ready, by one script
	maxBacklog   = 1_000_000              // moves in the outbox, each about 70 bytes, above which nothing more is taken
)

func (o Options) withDefaults() (Options, error) {
	if o.Client == nil || o.Watch == nil || o.Node == "" || o.Name == "" {
		return o, errors.New("queue: Client, Watch, Node and Name are needed")
	}
	o.OnRepeat = cmp.Or(o.OnRepeat, RepeatUpdates)
	if o.Timezone == nil {
		o.Timezone = time.UTC
	}
	if o.Lease <= 0 || o.Lease > MaxLease || o.MaxAttempts < item.NoLimit {
		return o, fmt.Errorf("queue: the lease must be positive and at most %s, max_attempts at least 1 or none", MaxLease)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

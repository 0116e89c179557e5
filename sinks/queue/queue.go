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
	settings *liveSettings // shared by the queue and its twin
	log      *slog.Logger

	keeper *recovery.Keeper // one for both lines: their epochs begin together
	lines  [2]*queueLine    // 0 is the queue, 1 is its twin
	reads  *readScripts
	life   *lifeScripts

	drainers [2]*drainer // one for each line; nil without a ledger
	sweepers [2]*sweeper
}

// New returns a queue. The queue serves nothing until Run is called.
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

// line returns the queue itself, or its test twin.
func (q *Queue) line(test bool) *queueLine {
	if test {
		return q.lines[1]
	}
	return q.lines[0]
}

// live creates the parts that Run keeps going: the keeper, and with a ledger also a drainer and a sweeper for each
// line.
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

// Run keeps the queue and its twin going until the context ends. It checks that Redis still holds the queue, and has
// the queue written back if not. It ends leases that are over, makes due items ready, drains the outbox into the
// ledger, puts back items that are missing in Redis, and listens for hints. Failures are logged and tried again.
//
// After the context has ended, Run waits for the calls under way, also for those whose callers have left. Then it
// drains the rest of the outbox for at most 3 s.
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

// Check asks Redis for the settings that the queue depends on, before anything is served. Check returns
// recovery.ErrEvicts, or the error of a Redis that cannot be reached.
func (q *Queue) Check(ctx context.Context) error { return q.keeper.Check(ctx) }

// Outlook says what a node does with the index when the node starts; see recovery.Keeper.Outlook.
func (q *Queue) Outlook(ctx context.Context) (recovery.Outlook, error) { return q.keeper.Outlook(ctx) }

var (
	// errBacklog is step.lua's refusal: the outbox has maxBacklog moves that the ledger does not have yet.
	errBacklog = errors.New("queue: too many moves wait for the ledger")
	// errToken is enqueue.lua's refusal: a newer repair has begun, so this one must not put items in.
	errToken = errors.New("queue: another repair has begun")

	errAnswer = errors.New("queue: a script's answer is not as its header says")
)

// known turns the error replies of our own scripts into typed errors.
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

// epochIsOver tells whether the error says that Redis is at another epoch than the caller assumed.
func epochIsOver(err error) bool {
	_, ok := errors.AsType[*recovery.EpochError](err)
	return ok
}

// lost ends the generation if the error says that its epoch is over. recovery.Keeper.Serve may then try again in the
// next one.
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

// Ledger is the part of the ledger that a queue calls. The ledger knows a test twin as a queue of its own, whose name
// ends in ":test".
type Ledger interface {
	delivery.IndexRecord
	item.Journal
	item.Withholding
	item.SettingsRecord
	Records
}

// Records reads the ledger's records of items, for operators who look at a queue.
type Records interface{ item.Records }

// Options configures a queue.
type Options struct {
	Client redis.UniversalClient // Needed. Its OnConnect must be Watch.OnConnect.
	Watch  *recovery.Watch       // Needed.
	// Ledger may be nil. Then Redis alone holds the items: nothing survives its loss, and items have no trace.
	Ledger  Ledger
	Node    string           // Needed. The node's name, as traces of items show it.
	Session delivery.Session // Needed with a ledger: the index is written back under this session's lease.
	Prefix  string           // The prefix of every key, from redis.prefix. It must have no braces.
	Name    string           // Needed. The sink's name in the configuration.
	Logger  *slog.Logger     // Discards everything by default.
	// Lineage and OnRestore are passed on to recovery.Options.
	Lineage   recovery.Lineage
	OnRestore func(ctx context.Context, r recovery.Restore) error

	item.Settings                // From the configuration. The lease is needed.
	Timezone      *time.Location // Decides when a day of Dedupe begins and ends. UTC by default.
	Dedupe        Window         // By default an item holds its dedupe key until the item has ended.
	OnRepeat      OnRepeat       // RepeatUpdates by default.
	Events        *item.Events   // The events that are sent to a push channel; the twin sends none. Nil means none.

	// Now replaces the clock of the Redis server, for tests only. Nodes with different clocks would end leases at
	// different times.
	Now func() time.Time
}

// Defaults and limits.
const (
	DefaultLease       = 60 * time.Second
	DefaultMaxAttempts = 5

	MaxLease = 24 * time.Hour
	MaxWait  = 60 * time.Second
	MaxDelay = 366 * 24 * time.Hour

	callTimeout = recovery.CallTimeout   // the longest wait for an answer of Redis or of the ledger
	retryPause  = 50 * time.Millisecond  // between two tries of the same call
	lookEvery   = 5 * time.Second        // a waiting step asks again this often, in case a hint was lost
	drainEvery  = 100 * time.Millisecond // about how long a move waits in the outbox
	// moves in the outbox, about 70 bytes each; above this, step.lua refuses all work
	maxBacklog = 1_000_000
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

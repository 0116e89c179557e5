package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// Inbox is the sink and the reader's side of it. It implements sinks.Sink.
type Inbox struct {
	*index
	writer
	marker
	poller
	sweeper
}

// index is what the parts of an inbox share: its keys and scripts in Redis, and what this node knows of them.
type index struct {
	o       Options
	log     *slog.Logger
	keys    keySpace
	scripts scripts

	keeper *recovery.Keeper

	clocks  clockReader
	waiters waiters
	watches watches
	counts  counts
	sweeps  singleflight.Group // of warehouses

	mu         sync.Mutex
	warehouses map[string]bool // that have a clock in Redis, as far as this node knows
}

// The parts of an inbox.
type (
	// writer delivers notices.
	writer struct {
		*index
		remover remover
	}
	// remover removes bodies that no inbox holds any more, and what a wide notice has left.
	remover struct{ *index }
	// marker tells readers' windows what the ledger knows that they have read.
	marker struct {
		*index
		remover remover
	}
	// poller answers polls, and tells when there is something new.
	poller struct {
		*index
		sweeper sweeper
	}
	// sweeper removes what has expired.
	sweeper struct {
		*index
		remover remover
	}
)

var _ sinks.Sink = (*Inbox)(nil)

// New returns an inbox that waits for Run.
func New(o Options) (*Inbox, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	k, err := newKeys(o.Prefix, o.Sink)
	if err != nil {
		return nil, err
	}
	x := &index{o: o, log: o.Logger.With("sink", o.Sink), keys: k, scripts: newScripts(), warehouses: map[string]bool{}}
	x.clocks.ask = x.askClocks
	remove := remover{x}
	in := &Inbox{index: x, writer: writer{x, remove}, marker: marker{x, remove}, sweeper: sweeper{x, remove}}
	in.poller = poller{x, in.sweeper}
	x.keeper, err = recovery.New(recovery.Options{
		Client: o.Client, Watch: o.Watch, Ledger: o.Ledger, Contents: rebuilder{x, in.writer, in.marker}, Session: o.Session, Sink: o.Sink,
		EpochKey: k.epoch(), Channel: k.hints(), Logger: x.log, Unavailable: page.ErrUnavailable, Lineage: o.Lineage, OnRestore: o.OnRestore,
	})
	if err != nil {
		return nil, err
	}
	return in, nil
}

// Run keeps the index in order until the context ends: it checks that Redis is still what it was and rebuilds it if not,
// removes what has expired, and listens for hints. What goes wrong is logged and tried again.
func (in *Inbox) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { in.keeper.Run(ctx) })
	wg.Go(func() { in.sweepAll(ctx) })
	wg.Go(func() { in.trimAll(ctx) })
	wg.Go(func() { in.catchUpAll(ctx) })
	wg.Go(func() { in.listen(ctx) })
	wg.Go(func() { in.watchClocks(ctx) })
	wg.Wait()
}

// every does something again and again until the context ends.
func every(ctx context.Context, d time.Duration, do func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// Ready returns nil while the inbox serves, otherwise the reason why it does not.
func (in *Inbox) Ready() error {
	if err := in.keeper.Ready(); err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	return nil
}

// Check asks Redis what a site must not leave to chance, before anything is served. The error is recovery.ErrEvicts, or
// that Redis is out of reach.
func (in *Inbox) Check(ctx context.Context) error { return in.keeper.Check(ctx) }

// now is the scripts' argument: 0 is the server's own clock.
func (in *index) now() string {
	if in.o.Now == nil {
		return "0"
	}
	return strconv.FormatInt(in.o.Now().UnixMicro(), 10)
}

func (in *index) knows(warehouse string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.warehouses[warehouse]
}

func (in *index) learn(warehouse string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.warehouses[warehouse] = true
}

// knowOnly replaces what is known when an epoch begins.
func (in *index) knowOnly(highest map[string]int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	clear(in.warehouses)
	for w := range highest {
		in.warehouses[w] = true
	}
}

func (in *index) known() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := make([]string, 0, len(in.warehouses))
	for w := range in.warehouses {
		out = append(out, w)
	}
	return out
}

// Ledger is what the inbox needs of the ledger to survive the loss of Redis. Its errors are sinks.ErrNotFound and
// sinks.ErrFenced. MarkSent must refuse receipts of another epoch than the recorded one, so that what an
// old index took is delivered again to the new one.
type Ledger interface {
	delivery.IndexRecord
	delivery.InboxRecord
	delivery.MarkRecord
}

// Options is what an inbox is made of.
type Options struct {
	Client  redis.UniversalClient // needed; its OnConnect must be that of Watch
	Watch   *recovery.Watch       // needed
	Ledger  Ledger                // needed
	Session delivery.Session      // in whose name the index is written back; needed
	Prefix  string                // of every key, as redis.prefix says; without braces
	Sink    string                // the sink's name in the configuration; "inbox" by default
	Cap     int                   // how many notices an inbox keeps, MinCap to MaxCap; DefaultCap where it is 0
	Logger  *slog.Logger          // none by default
	// Lineage and OnRestore are those of recovery.Options.
	Lineage   recovery.Lineage
	OnRestore func(ctx context.Context, r recovery.Restore) error
	// Now replaces the server's clock. For tests alone: nodes whose clocks differ would see notices expire at
	// different times.
	Now func() time.Time

	keepUpto   int // watermarks of a user in a warehouse, beside the last of each inbox
	maxChanges int // marks that a page tells of; what read-alls cover comes on top, ten times as many at most
	maxInboxes int // inboxes that one script call touches
	wideGap    int // scores that stay free below that of a wide notice
}

// The defaults and the limits of the design.
const (
	DefaultSink = "inbox"
	DefaultCap  = 10_000
	MinCap      = 1
	MaxCap      = 100_000

	// One script call holds up all warehouses of a server, so each does a bounded portion of the work.
	maxBatch    = 500     // notices in one script call
	maxBytes    = 1 << 20 // of bodies in one script call, or of its answer; beside one notice
	maxNotice   = 4 << 20 // bytes of one notice
	maxInboxes  = 500     // in one script call that changes them; a notice for more is wide
	maxPairs    = 5000    // notices times inboxes in one script call
	maxWiped    = 150     // inboxes, users and wide notices of an old epoch in one script call
	keepInboxes = 1000    // inboxes in which the watermarks of a user in a warehouse are kept

	checkEvery = time.Second // how soon a lost hint is noticed
	sweepEvery = time.Second
	maxUnread  = 999
	keepUpto   = 200
	maxChanges = 1000
	window     = 72 * time.Hour
)

func (o Options) withDefaults() (Options, error) {
	if o.Client == nil || o.Watch == nil || o.Ledger == nil || o.Session == nil {
		return o, errors.New("inbox: Client, Watch, Ledger and Session are needed")
	}
	if o.Sink == "" {
		o.Sink = DefaultSink
	}
	if o.Cap == 0 {
		o.Cap = DefaultCap
	}
	if o.keepUpto == 0 {
		o.keepUpto = keepUpto
	}
	if o.maxChanges == 0 {
		o.maxChanges = maxChanges
	}
	if o.maxInboxes == 0 {
		o.maxInboxes = maxInboxes
	}
	if o.wideGap == 0 {
		o.wideGap = wideGap
	}
	if o.Cap < MinCap || o.Cap > MaxCap {
		return o, fmt.Errorf("inbox: the cap must be %d to %d", MinCap, MaxCap)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// TypeName is the name of the type.
const TypeName = "inbox"

// Type is the type of sink that keeps notices for clients that poll.
var Type = sinks.Type{Name: TypeName, New: func() sinks.Settings { return NewSettings() }}

// Settings are those of a sink of the type.
type Settings struct {
	sinks.Header `yaml:",inline"`

	Cap int `yaml:"cap" min:"1" max:"100000" doc:"how many notices an inbox keeps; the oldest go first"`
}

// NewSettings are the defaults.
func NewSettings() *Settings {
	return &Settings{Header: sinks.Header{Type: TypeName}, Cap: DefaultCap}
}

// Kind is sinks.InboxKind.
func (*Settings) Kind() sinks.Kind { return sinks.InboxKind }

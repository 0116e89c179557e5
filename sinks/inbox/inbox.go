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

// Inbox is the sink, and the API for its readers. Inbox implements sinks.Sink.
type Inbox struct {
	*index
	writer
	marker
	poller
	sweeper
}

// index is shared by all parts of an inbox: the keys and scripts in Redis, and what this node knows of them.
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
	sweeps  singleflight.Group // one sweep of a warehouse at a time

	mu         sync.Mutex
	warehouses map[string]bool // warehouses that have a clock in Redis, as far as this node knows
}

// The parts of an inbox.
type (
	// writer delivers notices.
	writer struct {
		*index
		remover remover
	}
	// remover removes bodies that no inbox holds any more, and the remains of wide notices.
	remover struct{ *index }
	// marker copies marks from the ledger to Redis, so that the user's other windows see them.
	marker struct {
		*index
		remover remover
	}
	// poller answers polls, and tells waiting readers when there may be something new.
	poller struct {
		*index
		sweeper sweeper
	}
	// sweeper removes expired notices.
	sweeper struct {
		*index
		remover remover
	}
)

var _ sinks.Sink = (*Inbox)(nil)

// New returns an inbox. The inbox serves nothing until Run is called.
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

// Run keeps the index in order until the context ends. Run checks that Redis still holds the index, and has the index
// rebuilt if not. Run removes expired notices, copies marks from the ledger, and listens for hints. Failures are logged
// and tried again.
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

// every calls do at each interval d until the context ends.
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

// Check asks Redis for the settings that the inbox depends on, before anything is served. Check returns
// recovery.ErrEvicts, or the error of a Redis that cannot be reached.
func (in *Inbox) Check(ctx context.Context) error { return in.keeper.Check(ctx) }

// Outlook says what a node does with the index when the node starts; see recovery.Keeper.Outlook.
func (in *Inbox) Outlook(ctx context.Context) (recovery.Outlook, error) {
	return in.keeper.Outlook(ctx)
}

// now is an argument of the scripts. 0 makes them use the server's own clock.
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

// knowOnly replaces the known warehouses when an epoch begins.
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

// Ledger is the part of the ledger that the inbox calls, so that it survives the loss of Redis. Its errors are
// delivery.ErrNotFound and delivery.ErrFenced. delivery.Lanes.MarkSent must refuse receipts of any epoch except the
// recorded epoch. So notices that only an old index has are delivered again, to the new index.
type Ledger interface {
	delivery.IndexRecord
	delivery.InboxRecord
	delivery.MarkRecord
}

// Options configures an inbox.
type Options struct {
	Client  redis.UniversalClient // Needed. Its OnConnect must be Watch.OnConnect.
	Watch   *recovery.Watch       // Needed.
	Ledger  Ledger                // Needed.
	Session delivery.Session      // Needed: the index is written back under this session's lease.
	Prefix  string                // The prefix of every key, from redis.prefix. It must have no braces.
	Sink    string                // The sink's name in the configuration; "inbox" by default.
	Cap     int                   // How many notices an inbox keeps, MinCap to MaxCap. 0 means DefaultCap.
	Logger  *slog.Logger          // Discards everything by default.
	// Lineage and OnRestore are passed on to recovery.Options.
	Lineage   recovery.Lineage
	OnRestore func(ctx context.Context, r recovery.Restore) error
	// Now replaces the clock of the Redis server, for tests only. Nodes with different clocks would see notices expire at
	// different times.
	Now func() time.Time

	keepUpto   int // most watermarks of a user in a warehouse; the last watermark of an inbox stays in any case
	maxChanges int // marks in one page; notices covered by read-alls come on top, at most ten times as many
	maxInboxes int // inboxes that one script call touches
	wideGap    int // scores left free below the score of a wide notice
}

// Defaults and limits.
const (
	DefaultSink = "inbox"
	DefaultCap  = 10_000
	MinCap      = 1
	MaxCap      = 100_000

	// A script blocks all warehouses of a server while it runs, so each call does a bounded part of the work.
	maxBatch    = 500     // notices in one script call
	maxBytes    = 1 << 20 // bytes of bodies in one script call or in its answer; a single larger notice goes alone
	maxNotice   = 4 << 20 // bytes of one notice
	maxInboxes  = 500     // in one script call that changes them; a notice for more inboxes is wide
	maxPairs    = 5000    // notices times inboxes in one script call
	maxWiped    = 150     // inboxes, users and wide notices of an old epoch in one script call
	keepInboxes = 1000    // inboxes in which a user's watermarks are kept, per warehouse

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

// Settings are the settings of a sink of type inbox.
type Settings struct {
	sinks.Header `yaml:",inline"`

	Cap int `yaml:"cap" min:"1" max:"100000" doc:"how many notices an inbox keeps; the oldest go first"`
}

// NewSettings returns the defaults.
func NewSettings() *Settings {
	return &Settings{Header: sinks.Header{Type: TypeName}, Cap: DefaultCap}
}

// Kind returns sinks.InboxKind.
func (*Settings) Kind() sinks.Kind { return sinks.InboxKind }

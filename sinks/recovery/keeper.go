package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/sinks"
)

// Keeper keeps an index in order. Keeper knows which epoch is in force, notices when Redis has lost the index, and has
// it written back.
type Keeper struct {
	o   Options
	log *slog.Logger

	generations *generations
	kick        chan struct{}         // asks for a check at once
	policy      atomic.Bool           // the eviction policy is known to be right
	newest      atomic.Int64          // the highest epoch number that was met in Redis
	reach       atomic.Pointer[error] // why the last check did not reach Redis; nil if it did
}

// New returns a keeper. No generation is in force until Run is called.
func New(o Options) (*Keeper, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	k := &Keeper{o: o, log: o.Logger, generations: newGenerations(), kick: make(chan struct{}, 1)}
	if o.Ledger == nil {
		k.o.Ledger = soloRecord{k}
	}
	o.Watch.listen(k.connected)
	return k, nil
}

// Run checks once a second, and whenever something seems wrong, that Redis still holds the index, until the context
// ends. Failures are logged and tried again.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	last := ""
	for {
		err := k.look(ctx)
		if ctx.Err() != nil {
			return
		}
		k.generations.fail(err)
		if text := fmt.Sprint(err); err != nil && text != last {
			k.log.Warn("The index is not served. The node tries again every 100 ms.", "cause", err)
			last = text
		} else if err == nil {
			last = ""
		}
		wait := tick.C
		if err != nil {
			wait = time.After(2 * retryPause)
		}
		select {
		case <-k.kick:
		case <-wait:
		case <-ctx.Done():
			return
		}
	}
}

// look checks the generation in force, or finds one.
func (k *Keeper) look(ctx context.Context) error {
	g, _, _ := k.generations.get()
	if g == nil {
		return k.recover(ctx)
	}
	found, err := k.confirm(ctx, g)
	if err != nil && !errors.Is(err, ErrLost) {
		k.reach.Store(&err)
		return err
	}
	k.reach.Store(nil)
	if err != nil {
		return nil //nolint:nilerr // Lose has requested another look, which finds the next generation
	}
	if err := k.compare(ctx, g); err != nil {
		if !errors.Is(err, ErrLost) {
			k.log.Debug("The index is not compared with the ledger yet. The node tries again within a second.", "error", err)
		}
		return nil // readers can be served without the ledger
	}
	return k.remember(ctx, g, found)
}

// Confirm checks that Redis still holds the generation. If not, it ends the generation and returns ErrLost. Code that
// creates something new must call Confirm first: otherwise that code would not notice that Redis has lost the index.
func (k *Keeper) Confirm(ctx context.Context, g *Generation) error {
	if g.isWrittenBack {
		return nil // the epoch is written to Redis only at the end of the rebuild
	}
	_, err := k.confirm(ctx, g)
	return err
}

func (k *Keeper) confirm(ctx context.Context, g *Generation) (standing, error) {
	found, err := k.ask(ctx)
	switch {
	case err != nil:
		return found, err
	case !isLive(g.runIDs, found.runIDs):
		k.Lose(g, errors.New("the Redis server was restarted or replaced"))
		return found, ErrLost
	case found.epoch != g.Epoch:
		k.Lose(g, &EpochError{Found: found.epoch})
		return found, ErrLost
	}
	return found, nil
}

// Ready returns nil while an epoch is in force and Redis can be reached, otherwise the reason.
func (k *Keeper) Ready() error {
	g, _, cause := k.generations.get()
	if g == nil {
		return cause
	}
	if err := k.reach.Load(); err != nil {
		return fmt.Errorf("redis: %w", *err)
	}
	return nil
}

// Current returns the generation in force, or nil, and a channel that is closed when that changes.
func (k *Keeper) Current() (*Generation, <-chan struct{}) {
	g, changed, _ := k.generations.get()
	return g, changed
}

// Is tells whether g is still in force. Results of a generation that has ended do not count.
func (k *Keeper) Is(g *Generation) bool { return k.generations.is(g) }

// Lose ends the generation because of an error found in Redis. The next check finds the generation to serve.
func (k *Keeper) Lose(g *Generation, cause error) {
	if k.generations.lose(g, cause) {
		k.log.Warn("The index is not trusted any more. The node checks it again.", "epoch", g.Epoch, "cause", cause)
		k.CheckNow()
	}
}

// CheckNow makes Run check at once.
func (k *Keeper) CheckNow() {
	select {
	case k.kick <- struct{}{}:
	default: // a check is requested already
	}
}

// connected is called for every new connection before the connection is used.
func (k *Keeper) connected(runID string) {
	if k.generations.connected(runID) {
		k.log.Warn("Redis is another server than before. Its contents are not trusted until they are checked.",
			"run_id", runID)
		k.CheckNow()
	}
}

// soloRecord replaces the ledger if there is none. Then the contents of Redis are the truth.
type soloRecord struct{ k *Keeper }

func (a soloRecord) IndexState(ctx context.Context, _ string) (delivery.IndexState, error) {
	found, err := a.k.ask(ctx)
	if err == nil && found.epoch == NoEpoch {
		err = delivery.ErrNotFound
	}
	return delivery.IndexState{Epoch: found.epoch, RunIDs: found.runIDs}, err
}

// BeginEpoch always succeeds. If two nodes begin at once, the later one meets the other's epoch and serves it.
func (soloRecord) BeginEpoch(context.Context, string, string, delivery.IndexState, string, time.Duration) error {
	return nil
}

func (soloRecord) FinishEpoch(context.Context, string, string) error { return nil }

// soloSession replaces the session if there is no ledger.
type soloSession struct{}

func (soloSession) Hold() (string, <-chan struct{}) { return "solo", nil }

func (soloSession) Holds(string) bool { return true }

// Ledger is the part of the ledger that a keeper calls. Its errors are delivery.ErrNotFound and delivery.ErrFenced.
type Ledger interface{ delivery.IndexRecord }

// Contents checks and writes the contents of an index. Its scripts answer with an EpochError if they meet another
// epoch.
type Contents interface {
	// Missing compares Redis with the records of the ledger, and says what is wrong in Redis. "" means nothing.
	Missing(ctx context.Context, epoch string) (why string, err error)
	// Ahead compares the latest entries that Redis remembers with the ledger, at any epoch of the ledger. Ahead says
	// which entry the ledger does not know. "" means none.
	Ahead(ctx context.Context, epoch string) (cause string, err error)
	// Withhold saves to a restored ledger the facts that only Redis knows of the epoch that ends. It returns how many
	// items wait for an operator, and how many items the ledger does not know. Withhold may be repeated.
	Withhold(ctx context.Context, epoch string) (withheld, dropped int, err error)
	// Rebuild removes everything of older epochs from Redis, and writes back the entries that the ledger has. It
	// returns how many entries it wrote.
	Rebuild(ctx context.Context, epoch string) (count int, err error)
}

// Options configures a keeper. A field without a default is needed.
type Options struct {
	Client   redis.UniversalClient // Its OnConnect must be Watch.OnConnect.
	Watch    *Watch
	Ledger   Ledger // Nil means Redis alone: what Redis loses is lost, and a node that finds no epoch begins one.
	Contents Contents
	Session  delivery.Session // The index is written back under this session's lease. Not needed without a ledger.
	Sink     string           // The sink's name in the configuration.
	EpochKey string           // The key of the hash that names the epoch in force.
	// An empty message on this channel says that an epoch has begun; its reader calls CheckNow. If "", each node
	// notices the new epoch at its next check.
	Channel string
	Logger  *slog.Logger // Discards everything by default.
	// Salvage, if set, saves what it can of an epoch before the next one begins. Redis may still have most or all of that
	// epoch.
	Salvage func(ctx context.Context, epoch string) error
	// Lineage distinguishes the ledger from an older copy of it. Nil means that Redis is never compared.
	Lineage Lineage
	// OnRestore, if set, is called for a restored ledger before the index is written back.
	OnRestore func(ctx context.Context, r Restore) error
	// Unavailable is the error for callers that waited for an epoch until their time was over, wrapped with the cause.
	// ErrUnavailable by default.
	Unavailable error
}

// ErrUnavailable says that no epoch is in force.
var ErrUnavailable = sinks.ErrUnavailable

// CallTimeout is how long a caller waits for an epoch, or for an answer of Redis.
const CallTimeout = 5 * time.Second

const (
	retryPause = 50 * time.Millisecond
	checkEvery = time.Second // how soon a flushed server is noticed
	// how long clients wait if the node that writes the index back dies and nobody ends its session
	buildLease = 5 * time.Second
)

func (o Options) withDefaults() (Options, error) {
	if o.Client == nil || o.Watch == nil || o.Contents == nil {
		return o, errors.New("index: Client, Watch and Contents are needed")
	}
	if o.Sink == "" || o.EpochKey == "" || o.Session == nil && o.Ledger != nil {
		return o, errors.New("index: Session, Sink and EpochKey are needed")
	}
	if o.Session == nil {
		o.Session = soloSession{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Unavailable == nil {
		o.Unavailable = ErrUnavailable
	}
	return o, nil
}

// ErrEvicts says that the Redis server would evict keys when its memory is full.
var ErrEvicts = errors.New("this Redis evicts keys when its memory is full: set maxmemory-policy to noeviction")

// Check refuses a server that would evict keys, before anything is served. The error is ErrEvicts, or the error of a
// Redis that cannot be reached. After the first success Check does not ask again. A managed Redis may hide its setting;
// then Check logs a warning.
func (k *Keeper) Check(ctx context.Context) error {
	if k.policy.Load() {
		return nil
	}
	var err error
	if cluster, ok := k.o.Client.(*redis.ClusterClient); ok {
		var mu sync.Mutex
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			return k.askPolicy(ctx, c)
		})
	} else {
		err = k.askPolicy(ctx, k.o.Client)
	}
	if err == nil {
		k.policy.Store(true)
	}
	return err
}

// ConfigGetter is a connection to one server.
type ConfigGetter interface {
	ConfigGet(ctx context.Context, parameter string) *redis.MapStringStringCmd
}

// AskPolicy returns ErrEvicts for a server that evicts keys. hidden tells that the server does not show its policy.
func AskPolicy(ctx context.Context, c ConfigGetter) (hidden bool, err error) {
	settings, err := c.ConfigGet(ctx, "maxmemory-policy").Result()
	if isRefused(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if policy := settings["maxmemory-policy"]; policy != "noeviction" && policy != "" {
		return false, fmt.Errorf("%w (it is %s)", ErrEvicts, policy)
	}
	return false, nil
}

type policyAsker interface {
	asker
	ConfigGetter
}

func (k *Keeper) askPolicy(ctx context.Context, c policyAsker) error {
	hidden, err := AskPolicy(ctx, c)
	if hidden {
		if s, err := askServer(ctx, c); err == nil && s.runID != "" { // not the in-process Redis, which never evicts
			k.log.Warn("Redis does not show its maxmemory-policy. It must be noeviction.")
		}
	}
	return err
}

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

// Keeper keeps an index in order: it knows which epoch is in force, notices when Redis has lost it, and has it written back.
type Keeper struct {
	o   Options
	log *slog.Logger

	generations *generations
	kick        chan struct{}         // asks for a check at once
	policy      atomic.Bool           // the eviction policy was found to be fine
	newest      atomic.Int64          // the highest number of an epoch that was met in Redis
	reach       atomic.Pointer[error] // why the last check did not reach Redis; nil = it did
}

// New returns a keeper that waits for Run. Until then nothing is in force.
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

// Run looks once a second, and whenever something seems wrong, whether Redis is still what it was, until the context
// ends. What goes wrong is logged and tried again.
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
			k.log.Warn("the index is not served", "cause", err)
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
		return nil //nolint:nilerr // the kick of Lose has the next look find another
	}
	if err := k.compare(ctx, g); err != nil {
		if !errors.Is(err, ErrLost) {
			k.log.Debug("The index is not compared with the ledger yet. The node tries again within a second.", "error", err)
		}
		return nil // a ledger that is out of reach keeps nobody from reading
	}
	return k.remember(ctx, g, found)
}

// Confirm asks Redis whether it still holds the generation. Where it does not, the generation ends, and the error is ErrLost. Who begins
// something that nobody would miss has to ask: a loss that nobody has noticed yet shows nowhere else.
func (k *Keeper) Confirm(ctx context.Context, g *Generation) error {
	if g.isWrittenBack {
		return nil // the epoch is written when it begins
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

// Ready returns nil while an epoch is in force and Redis in reach, otherwise the reason.
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

// Current returns the generation in force, nil if there is none, and a channel that is closed when that changes.
func (k *Keeper) Current() (*Generation, <-chan struct{}) {
	g, changed, _ := k.generations.get()
	return g, changed
}

// Is tells whether g is still in force. What was done in one that is not any more does not count.
func (k *Keeper) Is(g *Generation) bool { return k.generations.is(g) }

// Lose ends the generation because of what was found in Redis; the next check finds out what there is.
func (k *Keeper) Lose(g *Generation, cause error) {
	if k.generations.lose(g, cause) {
		k.log.Warn("the index is not trusted any more", "epoch", g.Epoch, "cause", cause)
		k.CheckNow()
	}
}

// CheckNow has Run look at once.
func (k *Keeper) CheckNow() {
	select {
	case k.kick <- struct{}{}:
	default: // one is waiting already
	}
}

// connected is told of every new connection before it is used.
func (k *Keeper) connected(runID string) {
	if k.generations.connected(runID) {
		k.log.Warn("Redis is another server than before: its contents are not trusted", "run_id", runID)
		k.CheckNow()
	}
}

// soloRecord stands for the ledger where there is none: what Redis holds is the truth.
type soloRecord struct{ k *Keeper }

func (a soloRecord) IndexState(ctx context.Context, _ string) (delivery.IndexState, error) {
	found, err := a.k.ask(ctx)
	if err == nil && found.epoch == NoEpoch {
		err = delivery.ErrNotFound
	}
	return delivery.IndexState{Epoch: found.epoch, RunIDs: found.runIDs}, err
}

// BeginEpoch lets everybody: of two nodes that begin at once the later one meets the other's epoch, and serves that.
func (soloRecord) BeginEpoch(context.Context, string, string, delivery.IndexState, string, time.Duration) error {
	return nil
}

func (soloRecord) FinishEpoch(context.Context, string, string) error { return nil }

// soloSession stands for the session where there is no ledger that would ask for one.
type soloSession struct{}

func (soloSession) Hold() (string, <-chan struct{}) { return "solo", nil }

func (soloSession) Holds(string) bool { return true }

// Ledger is what a keeper needs of the ledger. Its errors are sinks.ErrNotFound and sinks.ErrFenced.
type Ledger interface{ delivery.IndexRecord }

// Contents is what an index holds. Its scripts answer with an EpochError where they meet another epoch.
type Contents interface {
	// Missing compares Redis with what the ledger has recorded, and says what is wrong: "" is nothing.
	Missing(ctx context.Context, epoch string) (why string, err error)
	// Ahead compares what Redis remembers of the last things that it was given with the ledger, whichever epoch the ledger is at. It says what the
	// ledger does not know: "" is nothing.
	Ahead(ctx context.Context, epoch string) (cause string, err error)
	// Withhold saves, in a ledger that was restored, what only Redis knows of the epoch that ends. It returns how many items wait for an operator, and
	// how many the ledger does not know. A repeated call does no harm.
	Withhold(ctx context.Context, epoch string) (withheld, dropped int, err error)
	// Rebuild removes what older epochs left and writes back what the ledger has. It returns how much that was.
	Rebuild(ctx context.Context, epoch string) (count int, err error)
}

// Options is what a keeper is made of. What has no default is needed.
type Options struct {
	Client   redis.UniversalClient // its OnConnect must be that of Watch
	Watch    *Watch
	Ledger   Ledger // nil = Redis alone: what it has lost is lost, and a node that finds no epoch there begins one
	Contents Contents
	Session  delivery.Session // in whose name the index is written back; not needed where there is no ledger
	Sink     string           // the sink's name in the configuration
	EpochKey string           // of the hash that names the epoch in force
	Channel  string           // where an empty message says that an epoch has begun; its reader calls CheckNow. "" = nodes notice it themselves
	Logger   *slog.Logger     // none by default
	// Salvage, if there is one, takes what it can of an epoch before the next one begins: Redis may still have all of it, or
	// the most.
	Salvage func(ctx context.Context, epoch string) error
	// Lineage tells the ledger from an older copy; nil = Redis is never compared.
	Lineage Lineage
	// OnRestore is told of a ledger that was restored, before the index is written back; nil = nobody is.
	OnRestore func(ctx context.Context, r Restore) error
	// Unavailable is what those get who waited for an epoch in vain, with the cause behind it; ErrUnavailable by default.
	Unavailable error
}

// ErrUnavailable says that there is no epoch in force.
var ErrUnavailable = sinks.ErrUnavailable

// CallTimeout is how long a client waits for an epoch, or for Redis to answer.
const CallTimeout = 5 * time.Second

const (
	retryPause = 50 * time.Millisecond
	checkEvery = time.Second     // how soon a flushed server is noticed
	buildLease = 5 * time.Second // clients wait for so long when the node that writes the index back dies, and nobody ends its session
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

// ErrEvicts says that the Redis server would throw keys away when its memory is full.
var ErrEvicts = errors.New("this Redis evicts keys when its memory is full: set maxmemory-policy to noeviction")

// Check refuses a server that would evict keys, before anything is served: the error is ErrEvicts, or that Redis is out of
// reach. It asks until it was told once; a managed Redis may not tell.
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

type configGetter interface {
	asker
	ConfigGet(ctx context.Context, parameter string) *redis.MapStringStringCmd
}

func (k *Keeper) askPolicy(ctx context.Context, c configGetter) error {
	settings, err := c.ConfigGet(ctx, "maxmemory-policy").Result()
	if isRefused(err) {
		if s, err := askServer(ctx, c); err == nil && s.runID != "" { // not the in-process Redis, which evicts nothing
			k.log.Warn("Redis does not tell its maxmemory-policy; it must be noeviction")
		}
		return nil
	}
	if err != nil {
		return err
	}
	if policy := settings["maxmemory-policy"]; policy != "noeviction" && policy != "" {
		return fmt.Errorf("%w (it is %s)", ErrEvicts, policy)
	}
	return nil
}

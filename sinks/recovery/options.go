package recovery

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/sinks"
)

// Ledger is what a keeper needs of the ledger. Its errors are sinks.ErrNotFound and sinks.ErrFenced.
type Ledger interface{ delivery.IndexRecord }

// Contents is what an index holds. Its scripts answer with an EpochError where they meet another epoch.
type Contents interface {
	// Missing compares Redis with what the ledger has recorded, and says what is wrong: "" is nothing.
	Missing(ctx context.Context, epoch string) (why string, err error)
	// Rebuild removes what older epochs left and writes back what the ledger has. It returns how much that was.
	Rebuild(ctx context.Context, epoch string) (count int, err error)
}

// Options is what a keeper is made of. What has no default is needed.
type Options struct {
	Client   redis.UniversalClient // its OnConnect must be that of Watch
	Watch    *Watch
	Ledger   Ledger // nil = Redis alone: what it has lost is lost, and a node that finds no epoch there begins one
	Contents Contents
	Node     string       // names this process among the nodes
	Sink     string       // the sink's name in the configuration
	EpochKey string       // of the hash that names the epoch in force
	Channel  string       // where an empty message says that an epoch has begun; its reader calls CheckNow. "" = nodes notice it themselves
	Logger   *slog.Logger // none by default
	// Salvage, if there is one, takes what it can of an epoch before the next one begins: Redis may still have all of it, or
	// the most.
	Salvage func(ctx context.Context, epoch string) error
	// Unavailable is what those get who waited for an epoch in vain, with the cause behind it; ErrUnavailable by default.
	Unavailable error
}

// ErrUnavailable says that there is no epoch in force.
var ErrUnavailable = sinks.ErrUnavailable

// Patience is how long a client waits for an epoch, or for Redis to answer.
const Patience = 5 * time.Second

const (
	retryPause = 50 * time.Millisecond
	checkEvery = time.Second     // how soon a flushed server is noticed
	buildLease = 5 * time.Second // clients wait for so long when the node that writes the index back dies
)

func (o Options) withDefaults() (Options, error) {
	if o.Client == nil || o.Watch == nil || o.Contents == nil {
		return o, errors.New("index: Client, Watch and Contents are needed")
	}
	if o.Node == "" || o.Sink == "" || o.EpochKey == "" {
		return o, errors.New("index: Node, Sink and EpochKey are needed")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Unavailable == nil {
		o.Unavailable = ErrUnavailable
	}
	return o, nil
}

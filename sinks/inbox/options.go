package inbox

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/sinks/recovery"
)

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
	Client redis.UniversalClient // needed; its OnConnect must be that of Watch
	Watch  *recovery.Watch       // needed
	Ledger Ledger                // needed
	Node   string                // needed: names this process among the nodes
	Prefix string                // of every key, as redis.prefix says; without braces
	Sink   string                // the sink's name in the configuration; "inbox" by default
	Cap    int                   // how many notices an inbox keeps, MinCap to MaxCap; DefaultCap where it is 0
	Logger *slog.Logger          // none by default
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
	if o.Client == nil || o.Watch == nil || o.Ledger == nil || o.Node == "" {
		return o, errors.New("inbox: Client, Watch, Ledger and Node are needed")
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

package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

// Ledger is what a queue needs of the ledger. A twin is a queue of its own there: its name ends in ":test".
type Ledger interface {
	delivery.IndexRecord
	item.Journal
	Records
}

// Records is what the ledger tells of items to those who look.
type Records interface{ item.Records }

// Options is what a queue is made of.
type Options struct {
	Client redis.UniversalClient // needed; its OnConnect must be that of Watch
	Watch  *recovery.Watch       // needed
	Ledger Ledger                // nil = Redis alone: nothing survives its loss, and there is no trace
	Node   string                // needed: names this process among the nodes
	Prefix string                // of every key, as redis.prefix says; without braces
	Name   string                // needed: the sink's name in the configuration
	Logger *slog.Logger          // none by default

	Timezone     *time.Location  // of the windows that are days; UTC by default
	Lease        time.Duration   // of an item; 60 s by default
	MaxAttempts  int             // failures after which an item is dead; 5 by default
	Dedupe       Window          // until the item has ended by default
	SuspendSteps []time.Duration // the first and further suspends of an item; 2 h, 12 h by default

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

	patience     = 5 * time.Second        // how long a call waits while Redis is written back
	retryPause   = 50 * time.Millisecond  // between two tries
	lookEvery    = 5 * time.Second        // how often one who waits asks, whatever hints come
	drainEvery   = 100 * time.Millisecond // how long a move waits for its way into the ledger, about
	maxReclaimed = 1000                   // leases taken back, or items made ready, by one script
	maxBacklog   = 1_000_000              // moves in the outbox, each about 70 bytes, above which nothing more is taken
)

// DefaultSuspendSteps is how long the first and the second suspend of an item last.
func DefaultSuspendSteps() []time.Duration { return []time.Duration{2 * time.Hour, 12 * time.Hour} }

func (o Options) withDefaults() (Options, error) {
	if o.Client == nil || o.Watch == nil || o.Node == "" || o.Name == "" {
		return o, errors.New("queue: Client, Watch, Node and Name are needed")
	}
	if o.Timezone == nil {
		o.Timezone = time.UTC
	}
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.MaxAttempts == 0 {
		o.MaxAttempts = DefaultMaxAttempts
	}
	if o.SuspendSteps == nil {
		o.SuspendSteps = DefaultSuspendSteps()
	}
	if o.Lease < 0 || o.Lease > MaxLease || o.MaxAttempts < 1 {
		return o, fmt.Errorf("queue: the lease must be positive and at most %s, max_attempts at least 1", MaxLease)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

// Ledger is what a queue needs of the ledger. A twin is a queue of its own there: its name ends in ":test".
type Ledger interface {
	recovery.Ledger
	// PushItems records items that are about to be pushed, all or none, and answers in their order. One whose id the queue
	// has had before is left as it was.
	PushItems(ctx context.Context, queue string, items []item.Record) ([]item.Known, error)
	// RefuseItems ends items that were recorded and then refused for their dedupe key.
	RefuseItems(ctx context.Context, queue string, refused []item.Refusal) error
	// ApplyMoves records what happened, in one transaction and in the order given. Entries at or below the position that
	// was applied last in the epoch change nothing. sinks.ErrFenced where the epoch is not the recorded one.
	ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error
	// AppliedMoves returns the position that was applied last in the epoch, 0 = none.
	AppliedMoves(ctx context.Context, queue, epoch string) (int64, error)
	// UnfinishedItems returns items that have not ended, ascending by Seq.
	UnfinishedItems(ctx context.Context, queue string, after int64, limit int) ([]item.Record, error)
	// HeldKeys returns the dedupe keys of ended items whose windows end after now, ascending by Seq.
	HeldKeys(ctx context.Context, queue string, now time.Time, after int64, limit int) ([]item.HeldKey, error)
	Records
}

// Records is what the ledger tells of items to those who look.
type Records interface {
	// SubjectItems returns for each of the subjects the ids of unfinished items that were made of it, in the order of their pushes.
	SubjectItems(ctx context.Context, queue string, subjects []string) ([][]string, error)
	// ItemTrace returns an item, ended or not, with its moves. sinks.ErrNotFound.
	ItemTrace(ctx context.Context, queue, id string) (item.Record, []item.Move, error)
	// EndedItems returns items of the scope's warehouses that have ended as the state says, with Seq below before (0 = any), the latest
	// push first. It looks at so many items at most: the list may be shorter than the limit, and even empty, where there are more. Next
	// is the Seq below which they are, 0 = there are none.
	EndedItems(ctx context.Context, queue string, state item.State, scope item.Scope, before int64, limit int) (list []item.Record, next int64, err error)
	QueuePause(ctx context.Context, queue string) (item.Pause, error)
	// SetQueuePause records the pause and, in the same transaction, who asked for it.
	SetQueuePause(ctx context.Context, o *item.Order, queue string, p item.Pause) error
}

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

package engine

import (
	"context"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
)

// Ledger is what the engine needs of Tallyman's database; internal/ledger describes each method.
type Ledger interface {
	ledger.Firings
	Lanes
	Catalogue
	LastRuns(ctx context.Context) ([]ledger.Run, error)
	Judged(ctx context.Context) ([]ledger.Judged, error)
	Promotions(ctx context.Context) ([]ledger.Promotion, error)
	ledger.Shadows
	ledger.Switches
	ledger.Nodes
	ledger.Plans
	Prune(ctx context.Context, before time.Time, keepRuns int) (int64, error)
}

// Catalogue are the types of notices as they are now.
type Catalogue interface {
	Types(ctx context.Context) (catalog.Catalog, error)
	TypesVersion(ctx context.Context) (int64, error)
}

// Lanes is what the delivery loops need of the ledger.
type Lanes interface {
	PendingLanes(ctx context.Context, sink string) ([]delivery.Lane, error)
	AcquireLane(ctx context.Context, lane delivery.Lane, node string, lease time.Duration) (bool, error)
	ReleaseLane(ctx context.Context, lane delivery.Lane, node string) error
	Pending(ctx context.Context, lane delivery.Lane, limit int) ([]delivery.Delivery, error)
	MarkSent(ctx context.Context, receipts []delivery.Receipt) error
	MarkAttempt(ctx context.Context, seqs []int64, cause string) error
	MarkFailed(ctx context.Context, seqs []int64, cause string) error
}

// Observer is told what happened, for metrics. Its methods are called from many goroutines and must
// not block.
type Observer interface {
	// RunDone is called after a run was committed, failed and skipped ones included.
	RunDone(run ledger.Run)
	// NoticeMade is called for each notice after its commit.
	NoticeMade(noticeType, status string)
	// DeliveryDone is called after n deliveries of a sink were tried together; outcome is one of those below.
	DeliveryDone(sink, outcome string, n int)
	// FiringLag is how long after its due time and jitter a firing was claimed, in the engine's time.
	FiringLag(d time.Duration)
}

// The outcomes of DeliveryDone.
const (
	OutcomeSent    = "sent"
	OutcomeRetried = "retried" // not taken; it stays pending
	OutcomeRefused = "failed"  // never to be taken; it has ended
)

// NoObserver ignores everything.
type NoObserver struct{}

// RunDone does nothing.
func (NoObserver) RunDone(ledger.Run) {}

// NoticeMade does nothing.
func (NoObserver) NoticeMade(string, string) {}

// DeliveryDone does nothing.
func (NoObserver) DeliveryDone(string, string, int) {}

// FiringLag does nothing.
func (NoObserver) FiringLag(time.Duration) {}

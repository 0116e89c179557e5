package engine

import (
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// Ledger is what the engine needs of Tallyman's database.
type Ledger interface {
	ledger.Firings
	delivery.Lanes
	ledger.TypeReader
	ledger.RunSummary
	ledger.Shadows
	ledger.Switches
	ledger.Nodes
	Told
	ledger.Plans
	ledger.Pruner
}

// Told is what Why asks of what was told, and who hears of it.
type Told interface {
	ledger.Traces
	ledger.Audience
	ledger.DeliveryList
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

package engine

import (
	"context"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
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
	ledger.Plans
	ledger.Pruner
}

// Session is the node's session in the ledger. The engine holds firings and lanes in its name. Package internal/session
// keeps the session alive.
type Session interface {
	delivery.Session
	// Own is Hold for firings. The ledger refuses the commit of a firing whose session has ended. So this channel may
	// close late: only when the ledger has ended the session, or when the node stops. Hold's channel is closed earlier,
	// when the session may have ended.
	Own() (id string, ended <-chan struct{})
	// Announce records which rules the node runs.
	Announce(ctx context.Context, rules string) error
}

// Observer receives events for metrics. Its methods are called from many goroutines and must not block.
type Observer interface {
	// RunDone is called after a run was committed, also after a failed run. RunDone is called for a skipped run as
	// well, if the firing before was still running. RunDone is not called for firings that were due while the rule was
	// disabled.
	RunDone(run ledger.Run)
	// NoticeMade is called for each notice after its commit.
	NoticeMade(noticeType, status string)
	// DeliveryDone is called after n deliveries of a sink were tried together. outcome is OutcomeSent, OutcomeRetried
	// or OutcomeRefused.
	DeliveryDone(sink, outcome string, n int)
	// DeliveryTook is called for each delivery that a sink has taken. d is the time since Notice.CreatedAt. For a
	// notice of a rule, CreatedAt is the start of the pass, before its scan.
	DeliveryTook(sink string, d time.Duration)
	// FiringLag is called when a firing begins. d is the time since its due time plus jitter, on the engine's clock.
	FiringLag(d time.Duration)
}

// The outcomes of DeliveryDone.
const (
	OutcomeSent    = "sent"
	OutcomeRetried = "retried" // The sink did not take the deliveries. They stay pending.
	OutcomeRefused = "failed"  // The sink will never take the deliveries. They have ended.
)

// NoObserver ignores everything.
type NoObserver struct{}

// RunDone does nothing.
func (NoObserver) RunDone(ledger.Run) {}

// NoticeMade does nothing.
func (NoObserver) NoticeMade(string, string) {}

// DeliveryDone does nothing.
func (NoObserver) DeliveryDone(string, string, int) {}

// DeliveryTook does nothing.
func (NoObserver) DeliveryTook(string, time.Duration) {}

// FiringLag does nothing.
func (NoObserver) FiringLag(time.Duration) {}

// boundedLedger overrides calls of the ledger and gives each a time limit. Without a limit, a connection that was cut
// silently would block its loop until the operating system gives up. The limit of most calls is a lease, because a
// later answer is of no use. A commit may be large and gets more time, and so do the reads of findings and notices.
// Renew, Release and ReleaseLane bring their own limits.
type boundedLedger struct {
	Ledger
	lease time.Duration
}

// longCall is the time limit of a commit and of a read of findings or notices, in leases.
const longCall = 10

// ask calls question with a time limit of d.
func ask[T any](ctx context.Context, d time.Duration, question func(context.Context) (T, error)) (T, error) {
	ctx, done := context.WithTimeout(ctx, d)
	defer done()
	return question(ctx)
}

// tell is ask for calls that return only an error.
func tell(ctx context.Context, d time.Duration, statement func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, d)
	defer done()
	return statement(ctx)
}

func (b boundedLedger) Register(ctx context.Context, rule, scope string, term int64, now time.Time) (ledger.ScopeState, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (ledger.ScopeState, error) {
		return b.Ledger.Register(ctx, rule, scope, term, now)
	})
}

func (b boundedLedger) Claim(ctx context.Context, rule, scope string, term int64, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (ledger.Claim, error) {
		return b.Ledger.Claim(ctx, rule, scope, term, due, node, lease)
	})
}

func (b boundedLedger) Abandoned(ctx context.Context) ([]ledger.Claim, error) {
	return ask(ctx, b.lease, b.Ledger.Abandoned)
}

func (b boundedLedger) Skip(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) (bool, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (bool, error) {
		return b.Ledger.Skip(ctx, rule, scope, term, due, node, reason)
	})
}

func (b boundedLedger) Thaw(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) error {
	return tell(ctx, b.lease, func(ctx context.Context) error {
		return b.Ledger.Thaw(ctx, rule, scope, term, due, node, reason)
	})
}

func (b boundedLedger) Rewind(ctx context.Context, who ledger.Author, r *ledger.Rewind) ([]row.Value, error) {
	return ask(ctx, b.lease, func(ctx context.Context) ([]row.Value, error) { return b.Ledger.Rewind(ctx, who, r) })
}

func (b boundedLedger) Switches(ctx context.Context) ([]ledger.Switch, error) {
	return ask(ctx, b.lease, b.Ledger.Switches)
}

func (b boundedLedger) Nodes(ctx context.Context) ([]ledger.Node, error) {
	return ask(ctx, b.lease, b.Ledger.Nodes)
}

func (b boundedLedger) Scope(ctx context.Context, rule, scope string) (ledger.ScopeState, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (ledger.ScopeState, error) {
		return b.Ledger.Scope(ctx, rule, scope)
	})
}

func (b boundedLedger) Open(ctx context.Context, rule, scope string) (*finding.Open, error) {
	return ask(ctx, longCall*b.lease, func(ctx context.Context) (*finding.Open, error) { return b.Ledger.Open(ctx, rule, scope) })
}

func (b boundedLedger) OpenFindings(ctx context.Context, rule, scope string, keys []finding.Hash) ([]finding.State, error) {
	return ask(ctx, longCall*b.lease, func(ctx context.Context) ([]finding.State, error) {
		return b.Ledger.OpenFindings(ctx, rule, scope, keys)
	})
}

func (b boundedLedger) Carriers(ctx context.Context, rule, scope string, notices []string) (map[string]int, error) {
	return ask(ctx, longCall*b.lease, func(ctx context.Context) (map[string]int, error) {
		return b.Ledger.Carriers(ctx, rule, scope, notices)
	})
}

func (b boundedLedger) Findings(ctx context.Context, rule, scope string) ([]finding.State, error) {
	return ask(ctx, longCall*b.lease, func(ctx context.Context) ([]finding.State, error) {
		return b.Ledger.Findings(ctx, rule, scope)
	})
}

func (b boundedLedger) Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error) {
	return ask(ctx, longCall*b.lease, func(ctx context.Context) (map[string]*notice.Notice, error) {
		return b.Ledger.Notices(ctx, ids)
	})
}

func (b boundedLedger) LookBack(ctx context.Context, rule, scope string) (ledger.LookBack, error) {
	return ask(ctx, longCall*b.lease, func(ctx context.Context) (ledger.LookBack, error) {
		return b.Ledger.LookBack(ctx, rule, scope)
	})
}

func (b boundedLedger) Commit(ctx context.Context, c ledger.Claim, run *ledger.Commit) (ledger.CommitResult, error) {
	return ask(ctx, longCall*b.lease, func(ctx context.Context) (ledger.CommitResult, error) {
		return b.Ledger.Commit(ctx, c, run)
	})
}

func (b boundedLedger) Removed(ctx context.Context, known map[string]bool) ([]ledger.RemovedScope, error) {
	return ask(ctx, b.lease, func(ctx context.Context) ([]ledger.RemovedScope, error) { return b.Ledger.Removed(ctx, known) })
}

func (b boundedLedger) Forget(ctx context.Context, p *ledger.ForgetPortion) (ledger.CommitResult, error) {
	return ask(ctx, longCall*b.lease, func(ctx context.Context) (ledger.CommitResult, error) { return b.Ledger.Forget(ctx, p) })
}

func (b boundedLedger) Types(ctx context.Context) (catalog.Catalog, error) {
	return ask(ctx, b.lease, b.Ledger.Types)
}

func (b boundedLedger) TypesVersion(ctx context.Context) (int64, error) {
	return ask(ctx, b.lease, b.Ledger.TypesVersion)
}

func (b boundedLedger) LastPlan(ctx context.Context, rule, scope string) (ledger.ProbePlan, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (ledger.ProbePlan, error) {
		return b.Ledger.LastPlan(ctx, rule, scope)
	})
}

func (b boundedLedger) RecordPlan(ctx context.Context, p ledger.ProbePlan) error {
	return tell(ctx, b.lease, func(ctx context.Context) error { return b.Ledger.RecordPlan(ctx, p) })
}

func (b boundedLedger) PendingLanes(ctx context.Context, sink string) ([]delivery.Lane, error) {
	return ask(ctx, b.lease, func(ctx context.Context) ([]delivery.Lane, error) {
		return b.Ledger.PendingLanes(ctx, sink)
	})
}

func (b boundedLedger) AcquireLane(ctx context.Context, lane delivery.Lane, node string, lease time.Duration) (bool, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (bool, error) {
		return b.Ledger.AcquireLane(ctx, lane, node, lease)
	})
}

func (b boundedLedger) Pending(ctx context.Context, lane delivery.Lane, limit int) ([]delivery.Delivery, error) {
	return ask(ctx, b.lease, func(ctx context.Context) ([]delivery.Delivery, error) {
		return b.Ledger.Pending(ctx, lane, limit)
	})
}

func (b boundedLedger) MarkSent(ctx context.Context, node string, receipts []delivery.Receipt, made delivery.Attempt) error {
	return tell(ctx, b.lease, func(ctx context.Context) error { return b.Ledger.MarkSent(ctx, node, receipts, made) })
}

func (b boundedLedger) MarkAttempt(ctx context.Context, seqs []int64, made delivery.Attempt) error {
	return tell(ctx, b.lease, func(ctx context.Context) error { return b.Ledger.MarkAttempt(ctx, seqs, made) })
}

func (b boundedLedger) MarkFailed(ctx context.Context, seqs []int64, made delivery.Attempt) error {
	return tell(ctx, b.lease, func(ctx context.Context) error { return b.Ledger.MarkFailed(ctx, seqs, made) })
}

package engine

import (
	"context"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
)

// bounded is a ledger that gives every question an end: a lease for most, since what takes longer is worth nothing, and
// more for a commit, which may be large. A connection that was cut without a word would otherwise hold up its loop for
// as long as the operating system hopes for an answer. Renew, Release and ReleaseLane bring their own bounds; Findings and
// Notices end with the claim.
type bounded struct {
	Ledger
	lease time.Duration
}

// longCommit is how many leases a commit may take.
const longCommit = 10

// ask puts a question that has to be answered within d.
func ask[T any](ctx context.Context, d time.Duration, question func(context.Context) (T, error)) (T, error) {
	ctx, done := context.WithTimeout(ctx, d)
	defer done()
	return question(ctx)
}

// tell is ask without an answer.
func tell(ctx context.Context, d time.Duration, statement func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, d)
	defer done()
	return statement(ctx)
}

func (b bounded) Register(ctx context.Context, rule, scope string, now time.Time) (ledger.ScopeState, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (ledger.ScopeState, error) {
		return b.Ledger.Register(ctx, rule, scope, now)
	})
}

func (b bounded) Claim(ctx context.Context, rule, scope string, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (ledger.Claim, error) {
		return b.Ledger.Claim(ctx, rule, scope, due, node, lease)
	})
}

func (b bounded) Abandoned(ctx context.Context) ([]ledger.Claim, error) {
	return ask(ctx, b.lease, b.Ledger.Abandoned)
}

func (b bounded) Skip(ctx context.Context, rule, scope string, due time.Time, node, reason string) error {
	return tell(ctx, b.lease, func(ctx context.Context) error {
		return b.Ledger.Skip(ctx, rule, scope, due, node, reason)
	})
}

func (b bounded) Thaw(ctx context.Context, rule, scope string, due time.Time, node, reason string) error {
	return tell(ctx, b.lease, func(ctx context.Context) error {
		return b.Ledger.Thaw(ctx, rule, scope, due, node, reason)
	})
}

func (b bounded) Switches(ctx context.Context) ([]ledger.Switch, error) {
	return ask(ctx, b.lease, b.Ledger.Switches)
}

func (b bounded) SeeNode(ctx context.Context, n ledger.Node) error {
	return tell(ctx, b.lease, func(ctx context.Context) error { return b.Ledger.SeeNode(ctx, n) })
}

func (b bounded) Nodes(ctx context.Context) ([]ledger.Node, error) {
	return ask(ctx, b.lease, b.Ledger.Nodes)
}

func (b bounded) Scope(ctx context.Context, rule, scope string) (ledger.ScopeState, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (ledger.ScopeState, error) {
		return b.Ledger.Scope(ctx, rule, scope)
	})
}

func (b bounded) Commit(ctx context.Context, c ledger.Claim, run *ledger.Commit) (ledger.Committed, error) {
	return ask(ctx, longCommit*b.lease, func(ctx context.Context) (ledger.Committed, error) {
		return b.Ledger.Commit(ctx, c, run)
	})
}

func (b bounded) Types(ctx context.Context) (catalog.Catalog, error) {
	return ask(ctx, b.lease, b.Ledger.Types)
}

func (b bounded) TypesVersion(ctx context.Context) (int64, error) {
	return ask(ctx, b.lease, b.Ledger.TypesVersion)
}

func (b bounded) LastPlan(ctx context.Context, rule, scope string) (ledger.ProbePlan, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (ledger.ProbePlan, error) {
		return b.Ledger.LastPlan(ctx, rule, scope)
	})
}

func (b bounded) RecordPlan(ctx context.Context, p ledger.ProbePlan) error {
	return tell(ctx, b.lease, func(ctx context.Context) error { return b.Ledger.RecordPlan(ctx, p) })
}

func (b bounded) PendingLanes(ctx context.Context, sink string) ([]delivery.Lane, error) {
	return ask(ctx, b.lease, func(ctx context.Context) ([]delivery.Lane, error) {
		return b.Ledger.PendingLanes(ctx, sink)
	})
}

func (b bounded) AcquireLane(ctx context.Context, lane delivery.Lane, node string, lease time.Duration) (bool, error) {
	return ask(ctx, b.lease, func(ctx context.Context) (bool, error) {
		return b.Ledger.AcquireLane(ctx, lane, node, lease)
	})
}

func (b bounded) Pending(ctx context.Context, lane delivery.Lane, limit int) ([]delivery.Delivery, error) {
	return ask(ctx, b.lease, func(ctx context.Context) ([]delivery.Delivery, error) {
		return b.Ledger.Pending(ctx, lane, limit)
	})
}

func (b bounded) MarkSent(ctx context.Context, receipts []delivery.Receipt) error {
	return tell(ctx, b.lease, func(ctx context.Context) error { return b.Ledger.MarkSent(ctx, receipts) })
}

func (b bounded) MarkAttempt(ctx context.Context, seqs []int64, cause string) error {
	return tell(ctx, b.lease, func(ctx context.Context) error { return b.Ledger.MarkAttempt(ctx, seqs, cause) })
}

func (b bounded) MarkFailed(ctx context.Context, seqs []int64, cause string) error {
	return tell(ctx, b.lease, func(ctx context.Context) error { return b.Ledger.MarkFailed(ctx, seqs, cause) })
}

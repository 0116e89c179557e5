package commits

import (
	"context"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// Ledger is a ledger whose commits of work are reported to a Watch. Changes by operators are not reported, because
// the operator sees the error. For claims, and for calls that may write nothing, only a refusal is reported. A success
// says too little: on a full disk such a change of an existing row often still works, while a new record does not
// fit.
type Ledger struct {
	ledger.Ledger
	watch *Watch
}

// Follow wraps l so that its commits are reported to the watch.
func Follow(l ledger.Ledger, w *Watch) *Ledger { return &Ledger{l, w} }

// Claim implements ledger.Firings.
func (l *Ledger) Claim(ctx context.Context, rule, scope string, term int64, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	c, err := l.Ledger.Claim(ctx, rule, scope, term, due, node, lease)
	l.watch.noteFault(Runs, err)
	return c, err
}

// Commit implements ledger.Firings.
func (l *Ledger) Commit(ctx context.Context, c ledger.Claim, run *ledger.Commit) (ledger.CommitResult, error) {
	done, err := l.Ledger.Commit(ctx, c, run)
	l.watch.noteEnd(Runs, err)
	return done, err
}

// Forget implements ledger.Removals.
func (l *Ledger) Forget(ctx context.Context, p *ledger.ForgetPortion) (ledger.CommitResult, error) {
	done, err := l.Ledger.Forget(ctx, p)
	l.watch.noteEnd(Runs, err)
	return done, err
}

// Skip implements ledger.Firings.
func (l *Ledger) Skip(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) (bool, error) {
	recorded, err := l.Ledger.Skip(ctx, rule, scope, term, due, node, reason)
	l.watch.noteFault(Runs, err)
	return recorded, err
}

// Thaw implements ledger.Firings.
func (l *Ledger) Thaw(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) error {
	err := l.Ledger.Thaw(ctx, rule, scope, term, due, node, reason)
	l.watch.noteFault(Runs, err)
	return err
}

// AcquireLane implements delivery.Lanes.
func (l *Ledger) AcquireLane(ctx context.Context, lane delivery.Lane, node string, lease time.Duration) (bool, error) {
	held, err := l.Ledger.AcquireLane(ctx, lane, node, lease)
	l.watch.noteFault(Deliveries, err)
	return held, err
}

// MarkSent implements delivery.Lanes.
func (l *Ledger) MarkSent(ctx context.Context, node string, receipts []delivery.Receipt, made delivery.Attempt) error {
	err := l.Ledger.MarkSent(ctx, node, receipts, made)
	l.watch.noteEnd(Deliveries, err)
	return err
}

// MarkAttempt implements delivery.Lanes.
func (l *Ledger) MarkAttempt(ctx context.Context, seqs []int64, made delivery.Attempt) error {
	err := l.Ledger.MarkAttempt(ctx, seqs, made)
	l.watch.noteFault(Deliveries, err)
	return err
}

// MarkFailed implements delivery.Lanes.
func (l *Ledger) MarkFailed(ctx context.Context, seqs []int64, made delivery.Attempt) error {
	err := l.Ledger.MarkFailed(ctx, seqs, made)
	l.watch.noteEnd(Deliveries, err)
	return err
}

// ClaimPushes implements delivery.Pushes.
func (l *Ledger) ClaimPushes(ctx context.Context, sink, node string, lease time.Duration, limit int) (delivery.Claims, error) {
	claims, err := l.Ledger.ClaimPushes(ctx, sink, node, lease, limit)
	l.watch.noteFault(Deliveries, err)
	return claims, err
}

// ReleasePushes implements delivery.Pushes.
func (l *Ledger) ReleasePushes(ctx context.Context, sink, node string, known []int64) error {
	err := l.Ledger.ReleasePushes(ctx, sink, node, known)
	l.watch.noteFault(Deliveries, err)
	return err
}

// SettlePushes implements delivery.Pushes.
func (l *Ledger) SettlePushes(ctx context.Context, settled []delivery.Settlement) error {
	err := l.Ledger.SettlePushes(ctx, settled)
	if len(settled) > 0 {
		l.watch.noteEnd(Deliveries, err)
	}
	return err
}

// EndPushes implements delivery.Pushes.
func (l *Ledger) EndPushes(ctx context.Context, sink string, limit int) (timedOut, canceled int, err error) {
	timedOut, canceled, err = l.Ledger.EndPushes(ctx, sink, limit)
	l.watch.noteFault(Deliveries, err)
	return timedOut, canceled, err
}

// Send implements ledger.Sends.
func (l *Ledger) Send(ctx context.Context, notices []ledger.NewNotice) (ledger.SentNotices, error) {
	sent, err := l.Ledger.Send(ctx, notices)
	l.watch.noteEnd(Sends, err)
	return sent, err
}

// Mark implements ledger.Marker.
func (l *Ledger) Mark(ctx context.Context, m ledger.Mark) error {
	err := l.Ledger.Mark(ctx, m)
	l.watch.noteEnd(Marks, err)
	return err
}

// ReadAll implements ledger.Marker.
func (l *Ledger) ReadAll(ctx context.Context, r ledger.ReadAll) (canceled int, err error) {
	canceled, err = l.Ledger.ReadAll(ctx, r)
	l.watch.noteEnd(Marks, err)
	return canceled, err
}

// PushItems implements item.Journal.
func (l *Ledger) PushItems(ctx context.Context, queue string, items []item.Record) ([]item.PushAnswer, error) {
	known, err := l.Ledger.PushItems(ctx, queue, items)
	if len(items) > 0 {
		l.watch.noteEnd(Items, err)
	}
	return known, err
}

// RefuseItems implements item.Journal.
func (l *Ledger) RefuseItems(ctx context.Context, queue string, refused []item.Refusal) error {
	err := l.Ledger.RefuseItems(ctx, queue, refused)
	l.watch.noteFault(Items, err)
	return err
}

// ApplyMoves implements item.Journal.
func (l *Ledger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	err := l.Ledger.ApplyMoves(ctx, queue, epoch, entries)
	if len(entries) > 0 {
		l.watch.noteEnd(Items, err)
	}
	return err
}

// BeginSession implements ledger.Sessions.
func (l *Ledger) BeginSession(ctx context.Context, n ledger.Node, lease time.Duration) error {
	err := l.Ledger.BeginSession(ctx, n, lease)
	l.watch.noteEnd(Presence, err)
	return err
}

// RenewSession implements ledger.Sessions.
func (l *Ledger) RenewSession(ctx context.Context, id, rules string, lease time.Duration) error {
	err := l.Ledger.RenewSession(ctx, id, rules, lease)
	l.watch.noteEnd(Presence, err)
	return err
}

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/ledger/store"
)

// Claim implements ledger.Firings.
func (l *Ledger) Claim(ctx context.Context, rule, scope string, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	c := ledger.Claim{Rule: rule, Scope: scope, Node: node}
	var dueAt, until int64
	err := l.pool.QueryRow(ctx, queries.Get("claim"), rule, scope, rows.Micros(due), node, lease.Microseconds(), l.NowArg()).
		Scan(&c.Token, &dueAt, &until, &c.Repeated)
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.Claim{}, l.WhyNotClaimed(ctx, rule, scope, due)
	}
	if err != nil {
		return ledger.Claim{}, failed("claim", err)
	}
	c.Due, c.LeaseUntil = rows.Time(dueAt), rows.Time(until)
	return c, nil
}

// Release implements ledger.Firings.
func (l *Ledger) Release(ctx context.Context, c ledger.Claim) error {
	n, err := l.exec(ctx, "release", c.Rule, c.Scope, c.Token, rows.Micros(c.Due))
	return store.FencedIfNone(n, err)
}

// Commit implements ledger.Firings.
func (l *Ledger) Commit(ctx context.Context, c ledger.Claim, run *ledger.Commit) (ledger.CommitResult, error) {
	n, err := l.newNotices(ctx, rows.NewPlan(c, run))
	defer n.release()
	if err != nil {
		return ledger.CommitResult{}, err
	}
	n.lowest, n.highest = rows.FindingsOf(c.Rule, c.Scope)
	// Only a firing that was begun before should meet its own notices. Looking for them costs as much as the
	// rest of the fence, so others look when the key of the table says that they must.
	n.look = c.Repeated
	w := commit{notices: n, claim: c, run: run}
	err = l.inTx(ctx, "commit", func(tx pgx.Tx) error { return w.write(ctx, tx) })
	if !n.look && hasState(err, uniqueViolation) {
		n.look = true
		err = l.inTx(ctx, "commit", func(tx pgx.Tx) error { return w.write(ctx, tx) })
	}
	if err != nil && !errors.Is(err, rows.ErrRepeated) {
		return ledger.CommitResult{}, err
	}
	return w.done, nil
}

// commit is one transaction on its way.
type commit struct {
	notices *noticeWriter
	claim   ledger.Claim
	run     *ledger.Commit

	scopeID int32
	done    ledger.CommitResult
}

func (w *commit) write(ctx context.Context, tx pgx.Tx) error {
	if err := w.fence(ctx, tx); err != nil {
		return err
	}
	if err := w.notices.write(ctx, tx); err != nil {
		return err
	}
	w.done = w.notices.plan.Committed(w.notices.made)
	return w.writeState(ctx, tx)
}

// fence locks the rule and scope, checks the claim, and asks in the same round trip for all that the rest
// of the commit depends on.
func (w *commit) fence(ctx context.Context, tx pgx.Tx) error {
	var token, running int64
	var kept string
	var b pgx.Batch
	b.Queue(queries.Get("fence"), w.claim.Rule, w.claim.Scope).QueryRow(func(r pgx.Row) error {
		return ignoreNone(r.Scan(&w.scopeID, &token, &running))
	})
	b.Queue(queries.Get("last-answer"), w.claim.Rule, w.claim.Scope, rows.Micros(w.claim.Due), w.claim.Token).
		QueryRow(func(r pgx.Row) error { return ignoreNone(r.Scan(&kept)) })
	w.notices.ask(&b)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	var err error
	w.done, err = rows.CheckFence(w.claim, w.notices.plan.Digest, kept, token, running)
	return err
}

func ignoreNone(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// writeState writes the findings, the run and the scope.
func (w *commit) writeState(ctx context.Context, tx pgx.Tx) error {
	f := newFindingChanges(w.scopeID, rows.Micros(w.claim.Due), w.run)
	if err := f.inserts.run(ctx, tx.Conn(), "copy-findings"); err != nil {
		return err
	}
	answer, err := rows.NewAnswer(w.notices.plan.Digest, w.done)
	if err != nil {
		return err
	}
	watermark, err := rows.Watermark(w.run.Watermark)
	if err != nil {
		return err
	}
	s := w.run.Scope
	var b pgx.Batch
	f.queue(&b)
	w.notices.cancel(&b)
	b.Queue(queries.Get("record-run"), rows.RunArgs(w.claim, &w.run.Run, answer, w.done.Unsubscribed)...)
	b.Queue(queries.Get("record-scope"), w.scopeID, rows.Micros(s.LastDue), rows.Micros(s.LastOKDue),
		s.Clock.Microseconds(), watermark, rows.Micros(w.claim.Due), w.run.Again)
	countEvents(&b, w.run.Silenced)
	return tx.SendBatch(ctx, &b).Close()
}

// countEvents adds the statements that count what silences have dropped.
func countEvents(b *pgx.Batch, dropped map[string]int) {
	for _, id := range rows.SilencesOf(dropped) {
		b.Queue(queries.Get("count-events"), id, dropped[id])
	}
}

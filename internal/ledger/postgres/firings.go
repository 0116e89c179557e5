package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/store"
)

// Register implements ledger.Firings. Registrations at the same time share a statement, because a starting node
// registers all of its scopes. A registration that the shared statement did not answer runs alone, which also finds
// the reason.
func (l *Ledger) Register(ctx context.Context, rule, scope string, term int64, now time.Time) (ledger.ScopeState, error) {
	ask := &registration{rule: rule, scope: scope, term: term, now: now}
	if err := l.registrations.Do(ctx, ask); err != nil {
		return ledger.ScopeState{}, err
	}
	if ask.state != nil {
		return *ask.state, nil
	}
	return l.Store.Register(ctx, rule, scope, term, now)
}

// Claim implements ledger.Firings. Claims at the same time share a statement, which leaves out firings that are not
// free. Such a claim then runs alone, which also finds the reason.
func (l *Ledger) Claim(ctx context.Context, rule, scope string, term int64, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	ask := &claimRequest{claim: ledger.Claim{Rule: rule, Scope: scope, Term: term, Due: due, Node: node}, lease: lease}
	if err := l.claims.Do(ctx, ask); err != nil {
		return ledger.Claim{}, err
	}
	switch {
	case ask.done:
		return ledger.Claim{}, ledger.ErrDone
	case ask.claim.Token != 0:
		return ask.claim, nil
	}
	c := ledger.Claim{Rule: rule, Scope: scope, Node: node}
	var dueAt, until int64
	err := l.pool.QueryRow(ctx, queries.Get("claim"), rule, scope, codec.Micros(due), node, lease.Microseconds(), l.LeaseArg(), term).
		Scan(&c.Token, &c.Term, &dueAt, &until, &c.Repeated)
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.Claim{}, l.WhyNotClaimed(ctx, rule, scope, term, due)
	}
	if err != nil {
		return ledger.Claim{}, failed("claim", err)
	}
	c.Due, c.LeaseUntil = codec.Time(dueAt), codec.Time(until)
	return c, nil
}

// Skip implements ledger.Firings. Skips at the same time share a statement, because an overloaded node skips many
// firings. A skip that the shared statement left out runs alone, which also finds the reason.
func (l *Ledger) Skip(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) (bool, error) {
	s := &skippedFiring{rule: rule, scope: scope, term: term, due: due, node: node, reason: reason}
	if err := l.skips.Do(ctx, s); err != nil || s.recorded {
		return s.recorded, err
	}
	return l.Store.Skip(ctx, rule, scope, term, due, node, reason)
}

// Release implements ledger.Firings.
func (l *Ledger) Release(ctx context.Context, c ledger.Claim) error {
	n, err := l.exec(ctx, "release", c.Rule, c.Scope, c.Token, codec.Micros(c.Due))
	return store.FencedIfNone(n, err)
}

// Commit implements ledger.Firings. Commits of runs that changed nothing share a statement. All other commits, and
// commits that the shared statement left out, have a transaction of their own, which also finds the reason.
func (l *Ledger) Commit(ctx context.Context, c ledger.Claim, run *ledger.Commit) (ledger.CommitResult, error) {
	plan := codec.NewPlan(c, run)
	if run.IsQuiet() && !c.Repeated {
		if committed, err := l.commitQuiet(ctx, c, run, plan.Digest); committed || err != nil {
			return ledger.CommitResult{}, err
		}
	}
	n, err := l.newNotices(ctx, plan)
	defer n.release()
	if err != nil {
		return ledger.CommitResult{}, err
	}
	n.lowest, n.highest = codec.FindingsOf(c.Rule, c.Scope)
	// Only a repeated firing is likely to find notices of its own. Looking for them costs as much as the rest of the
	// fence. Other firings look only after the key of the table has reported a conflict.
	n.checksExisting = c.Repeated
	w := commit{notices: n, claim: c, run: run}
	err = l.inTx(ctx, "commit", func(tx pgx.Tx) error { return w.write(ctx, tx) })
	if !n.checksExisting && hasState(err, uniqueViolation) {
		n.checksExisting = true
		err = l.inTx(ctx, "commit", func(tx pgx.Tx) error { return w.write(ctx, tx) })
	}
	if err != nil && !errors.Is(err, codec.ErrRepeated) {
		return ledger.CommitResult{}, err
	}
	return w.done, nil
}

// commit is the state of one commit's transaction.
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
	if err := w.notices.write(ctx, tx.Conn()); err != nil {
		return err
	}
	w.done = w.notices.plan.Committed(w.notices.made)
	return w.writeState(ctx, tx)
}

// fence locks the rule and scope and checks the claim. In the same round trip it asks for everything that the rest of
// the commit depends on.
func (w *commit) fence(ctx context.Context, tx pgx.Tx) error {
	var token, running int64
	var kept string
	var b pgx.Batch
	b.Queue(queries.Get("fence"), w.claim.Rule, w.claim.Scope).QueryRow(func(r pgx.Row) error {
		return ignoreNone(r.Scan(&w.scopeID, &token, &running))
	})
	b.Queue(queries.Get("last-answer"), w.claim.Rule, w.claim.Scope, codec.Micros(w.claim.Due), w.claim.Token, w.claim.Term).
		QueryRow(func(r pgx.Row) error { return ignoreNone(r.Scan(&kept)) })
	w.notices.ask(&b)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	var err error
	if w.done, err = codec.CheckFence(w.claim, w.notices.plan.Digest, kept, token, running); !errors.Is(err, ledger.ErrFenced) {
		return err
	}
	// The claim is over, but this may be a repeated commit. If later firings have followed, its record is in
	// past_firings.
	past := tx.QueryRow(ctx, queries.Get("past-answer"), w.claim.Rule, w.claim.Scope, codec.Micros(w.claim.Due), w.claim.Token, w.claim.Term)
	if err := ignoreNone(past.Scan(&kept)); err != nil {
		return err
	}
	w.done, err = codec.CheckFence(w.claim, w.notices.plan.Digest, kept, token, running)
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
	f := newFindingChanges(w.scopeID, codec.Micros(w.claim.Due), w.run)
	if err := f.inserts.run(ctx, tx.Conn(), "copy-findings"); err != nil {
		return err
	}
	answer, err := codec.NewAnswer(w.notices.plan.Digest, w.done)
	if err != nil {
		return err
	}
	watermark, err := codec.Watermark(w.run.Watermark)
	if err != nil {
		return err
	}
	back, err := codec.Back(w.run.Back)
	if err != nil {
		return err
	}
	seen, err := codec.LookBackChanges(w.scopeID, w.run.LookBack)
	if err != nil {
		return err
	}
	s := w.run.Scope
	var b pgx.Batch
	f.queue(&b)
	w.notices.cancel(&b)
	b.Queue(queries.Get("record-run"), codec.RunArgs(w.claim, &w.run.Run, answer, w.done.Unsubscribed)...)
	b.Queue(queries.Get("record-scope"), w.scopeID, codec.Micros(s.LastDue), codec.Micros(s.LastOKDue),
		s.Clock.Microseconds(), watermark, codec.Micros(w.claim.Due), w.run.Again, back, w.claim.Term, w.run.Initial)
	countEvents(&b, w.run.Silenced)
	for _, s := range seen {
		b.Queue(queries.Get(s.Name), s.Args...)
	}
	return tx.SendBatch(ctx, &b).Close()
}

// countEvents adds the statements that count the events that silences dropped.
func countEvents(b *pgx.Batch, dropped map[string]int) {
	for _, id := range codec.SilencesOf(dropped) {
		b.Queue(queries.Get("count-events"), id, dropped[id])
	}
}

// Forget implements ledger.Removals.
func (l *Ledger) Forget(ctx context.Context, p *ledger.ForgetPortion) (ledger.CommitResult, error) {
	plan := codec.PlanOf(p.Notices)
	plan.Over = p.Over
	n, err := l.newNotices(ctx, plan)
	defer n.release()
	if err != nil {
		return ledger.CommitResult{}, err
	}
	n.lowest, n.highest = codec.FindingsOf(p.Rule, p.Scope)
	n.checksExisting = true
	var done ledger.CommitResult
	err = l.inTx(ctx, "forget", func(tx pgx.Tx) error {
		id, err := n.fenceRemoved(ctx, tx, p)
		if err != nil {
			return err
		}
		if err := n.write(ctx, tx.Conn()); err != nil {
			return err
		}
		done = plan.Committed(n.made)
		return n.forget(ctx, tx, id, p)
	})
	if err != nil {
		return ledger.CommitResult{}, err
	}
	return done, nil
}

// fenceRemoved locks the rule and scope. In the same round trip it asks for everything that the notices depend on.
func (w *noticeWriter) fenceRemoved(ctx context.Context, tx pgx.Tx, p *ledger.ForgetPortion) (id int32, err error) {
	var b pgx.Batch
	b.Queue(queries.Get("fence-removed"), p.Rule, p.Scope, codec.Micros(p.LastDue)).QueryRow(func(r pgx.Row) error { return ignoreNone(r.Scan(&id)) })
	w.ask(&b)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return 0, err
	}
	if id == 0 {
		return 0, ledger.ErrFenced
	}
	return id, nil
}

// forget removes the findings of the portion. With the last portion it removes everything else of the rule and scope.
func (w *noticeWriter) forget(ctx context.Context, tx pgx.Tx, id int32, p *ledger.ForgetPortion) error {
	var b pgx.Batch
	w.cancel(&b)
	if len(p.Keys) > 0 {
		hashes := make([]pgtype.UUID, len(p.Keys))
		for i, key := range p.Keys {
			hashes[i] = keyHash(key)
		}
		b.Queue(queries.Get("delete-findings"), id, hashes).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != int64(len(hashes)) {
				return ledger.ErrFenced
			}
			return nil
		})
	}
	if p.Last {
		for _, name := range []string{"forget-plans", "forget-findings", "forget-look-back", "forget-seen-rows", "forget"} {
			b.Queue(queries.Get(name), id)
		}
	}
	return tx.SendBatch(ctx, &b).Close()
}

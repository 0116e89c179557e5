package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/store"
)

// errNothing rolls back a transaction that has nothing to change.
var errNothing = errors.New("nothing to change")

// Claim implements ledger.Firings.
func (l *Ledger) Claim(ctx context.Context, rule, scope string, term int64, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	c := ledger.Claim{Rule: rule, Scope: scope, Node: node}
	err := l.inTx(ctx, "claim", func(tx *sql.Tx) error {
		_, err := one(ctx, tx, "claim-before", []any{rule, scope, node}, &c.Before)
		if err != nil {
			return err
		}
		if c.Token, err = take(ctx, tx, "token", 1); err != nil {
			return err
		}
		now := l.machine()
		until := codec.Lease(now, lease)
		var dueAt int64
		got, err := one(ctx, tx, "claim",
			[]any{rule, scope, codec.Micros(due), node, until, now.UnixMicro(), c.Token, term}, &c.Term, &dueAt, &c.Repeated)
		if err == nil && !got {
			// The rollback also gives the token back.
			err = errNothing
		}
		c.Due, c.LeaseUntil = codec.Time(dueAt), codec.Time(until)
		return err
	})
	if errors.Is(err, errNothing) {
		return ledger.Claim{}, l.WhyNotClaimed(ctx, rule, scope, term, due)
	}
	if err != nil {
		return ledger.Claim{}, err
	}
	return c, nil
}

// take takes n new numbers and returns the last of them.
func take(ctx context.Context, tx *sql.Tx, name string, n int) (int64, error) {
	var last int64
	_, err := one(ctx, tx, "take-number", []any{name, n}, &last)
	return last, err
}

// Release implements ledger.Firings.
func (l *Ledger) Release(ctx context.Context, c ledger.Claim) error {
	return l.inTx(ctx, "release", func(tx *sql.Tx) error {
		next, err := take(ctx, tx, "token", 1)
		if err != nil {
			return err
		}
		return store.FencedIfNone(exec(ctx, tx, "release", c.Rule, c.Scope, c.Token, codec.Micros(c.Due), next))
	})
}

// Commit implements ledger.Firings.
func (l *Ledger) Commit(ctx context.Context, c ledger.Claim, run *ledger.Commit) (ledger.CommitResult, error) {
	plan := codec.NewPlan(c, run)
	// Encode before the transaction starts, because other writers wait for its end.
	if err := plan.Encode()(); err != nil {
		return ledger.CommitResult{}, failed("commit", err)
	}
	lanes, err := l.IDs.MakeLanes(ctx, plan.Lanes)
	if err != nil {
		return ledger.CommitResult{}, err
	}
	w := commit{notices: noticeWriter{plan: plan, lanes: lanes, now: l.nowMicros()}, claim: c, run: run}
	w.notices.lowest, w.notices.highest = codec.FindingsOf(c.Rule, c.Scope)
	err = l.inTx(ctx, "commit", func(tx *sql.Tx) error { return w.write(ctx, tx) })
	if err != nil && !errors.Is(err, codec.ErrRepeated) {
		return ledger.CommitResult{}, err
	}
	return w.done, nil
}

// commit is the state of one commit's transaction.
type commit struct {
	notices noticeWriter
	claim   ledger.Claim
	run     *ledger.Commit

	scopeID int64
	done    ledger.CommitResult
}

func (w *commit) write(ctx context.Context, tx *sql.Tx) error {
	if err := w.fence(ctx, tx); err != nil {
		return err
	}
	if err := w.notices.write(ctx, tx); err != nil {
		return err
	}
	w.done = w.notices.plan.Committed(w.notices.made)
	if err := writeFindings(ctx, tx, w.scopeID, codec.Micros(w.claim.Due), w.run); err != nil {
		return err
	}
	return w.writeState(ctx, tx)
}

// fence checks the claim, and whether this commit was committed before.
func (w *commit) fence(ctx context.Context, tx *sql.Tx) error {
	var token, running int64
	if _, err := one(ctx, tx, "fence", []any{w.claim.Rule, w.claim.Scope}, &w.scopeID, &token, &running); err != nil {
		return err
	}
	var kept string
	if _, err := one(ctx, tx, "last-answer", []any{w.claim.Rule, w.claim.Scope, codec.Micros(w.claim.Due), w.claim.Token, w.claim.Term}, &kept); err != nil {
		return err
	}
	var err error
	w.done, err = codec.CheckFence(w.claim, w.notices.plan.Digest, kept, token, running)
	return err
}

// writeState writes the run and the scope.
func (w *commit) writeState(ctx context.Context, tx *sql.Tx) error {
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
	if err := w.record(ctx, tx, answer); err != nil {
		return err
	}
	s := w.run.Scope
	if err := countEvents(ctx, tx, w.run.Silenced); err != nil {
		return err
	}
	seen, err := codec.LookBackChanges(w.scopeID, w.run.LookBack)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if _, err := exec(ctx, tx, s.Name, s.Args...); err != nil {
			return err
		}
	}
	_, err = exec(ctx, tx, "record-scope", w.scopeID, codec.Micros(s.LastDue), codec.Micros(s.LastOKDue),
		s.Clock.Microseconds(), watermark, codec.Micros(w.claim.Due), w.run.Again, back, w.claim.Term, w.run.Initial)
	return err
}

// record writes the run. A run that changed nothing is added to the row of earlier runs with the same result.
func (w *commit) record(ctx context.Context, tx *sql.Tx, answer string) error {
	if w.run.IsQuiet() && !w.claim.Repeated {
		n, err := exec(ctx, tx, "add-run", append(codec.QuietArgs(w.claim, &w.run.Run, answer), codec.MostRuns)...)
		if err != nil || n > 0 {
			return err
		}
	}
	_, err := exec(ctx, tx, "record-run", codec.RunArgs(w.claim, &w.run.Run, answer, w.done.Unsubscribed)...)
	return err
}

// countEvents counts the events that silences dropped.
func countEvents(ctx context.Context, tx *sql.Tx, dropped map[string]int) error {
	for _, id := range codec.SilencesOf(dropped) {
		if _, err := exec(ctx, tx, "count-events", id, dropped[id]); err != nil {
			return err
		}
	}
	return nil
}

// writeFindings writes the findings that changed.
func writeFindings(ctx context.Context, tx *sql.Tx, scopeID, due int64, run *ledger.Commit) error {
	changes, warehouses := run.Findings, codec.Warehouses(run)
	byOp := map[ledger.Op][]*ledger.FindingChange{}
	for i := range changes {
		byOp[changes[i].Op] = append(byOp[changes[i].Op], &changes[i])
	}
	columns := func(dst []any, c *ledger.FindingChange) []any {
		f := codec.NewFinding(&c.State)
		hash := finding.HashOf(f.Key)
		dst = append(dst, scopeID, hash[:], f.Key, f.Phase, f.Priority, f.Ordinal, f.Episode, f.SinceClock, f.AbsentSince,
			f.FiringSince, f.LastNotified, f.NoticeID, f.Group, f.Silenced, f.Watched, f.Baseline, warehouses[f.NoticeID], f.Term)
		if c.Row == nil {
			return append(dst, nil, 0)
		}
		return append(dst, c.Row, due)
	}
	inserts := byOp[ledger.Insert]
	err := insertRows(ctx, tx, "insert-findings", len(inserts), func(dst []any, i int) []any { return columns(dst, inserts[i]) })
	if err != nil {
		return err
	}
	if err := updateFindings(ctx, tx, byOp[ledger.Update], columns); err != nil {
		return err
	}
	deletes := byOp[ledger.Delete]
	if len(deletes) == 0 {
		return nil
	}
	keys := make([]string, len(deletes))
	for i := range deletes {
		keys[i] = deletes[i].Key
	}
	n, err := exec(ctx, tx, "delete-findings", scopeID, hashes(keys))
	if err == nil && n != int64(len(keys)) {
		err = fmt.Errorf("delete findings: the ledger has only %d of %d", n, len(keys))
	}
	return err
}

// hashes returns the hashes of the keys in the form of the statements.
func hashes(keys []string) []string {
	list := make([]finding.Hash, len(keys))
	for i, key := range keys {
		list[i] = finding.HashOf(key)
	}
	return codec.Hashes(list)
}

func updateFindings(ctx context.Context, tx *sql.Tx, changed []*ledger.FindingChange, columns func([]any, *ledger.FindingChange) []any) error {
	if len(changed) == 0 {
		return nil
	}
	stmt, err := tx.PrepareContext(ctx, queries.Get("update-finding"))
	if err != nil {
		return fmt.Errorf("update-finding: %w", err)
	}
	defer func() { _ = stmt.Close() }() // the transaction closes what it prepared
	var args []any
	for i := range changed {
		args = columns(args[:0], changed[i])
		res, err := stmt.ExecContext(ctx, args...)
		if err != nil {
			return fmt.Errorf("update-finding: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return fmt.Errorf("update-finding: %w", err)
		}
		if n != 1 {
			return fmt.Errorf("update findings: %q does not exist", changed[i].Key)
		}
	}
	return nil
}

// Forget implements ledger.Removals.
func (l *Ledger) Forget(ctx context.Context, p *ledger.ForgetPortion) (ledger.CommitResult, error) {
	plan := codec.PlanOf(p.Notices)
	plan.Over = p.Over
	// Encode before the transaction starts, because other writers wait for its end.
	if err := plan.Encode()(); err != nil {
		return ledger.CommitResult{}, failed("forget", err)
	}
	lanes, err := l.IDs.MakeLanes(ctx, plan.Lanes)
	if err != nil {
		return ledger.CommitResult{}, err
	}
	w := noticeWriter{plan: plan, lanes: lanes, now: l.nowMicros()}
	w.lowest, w.highest = codec.FindingsOf(p.Rule, p.Scope)
	err = l.inTx(ctx, "forget", func(tx *sql.Tx) error {
		var id int64
		found, err := one(ctx, tx, "fence-removed", []any{p.Rule, p.Scope, codec.Micros(p.LastDue)}, &id)
		if err != nil {
			return err
		}
		if !found {
			return ledger.ErrFenced
		}
		if err := w.write(ctx, tx); err != nil {
			return err
		}
		return forget(ctx, tx, id, p)
	})
	if err != nil {
		return ledger.CommitResult{}, err
	}
	return plan.Committed(w.made), nil
}

// forget removes the findings of the portion. With the last portion it removes everything else of the rule and scope.
func forget(ctx context.Context, tx *sql.Tx, id int64, p *ledger.ForgetPortion) error {
	n, err := exec(ctx, tx, "delete-findings", id, hashes(p.Keys))
	if err != nil {
		return err
	}
	if n != int64(len(p.Keys)) {
		return ledger.ErrFenced
	}
	if !p.Last {
		return nil
	}
	for _, name := range []string{"forget-plans", "forget-findings", "forget-look-back", "forget-seen-rows", "forget"} {
		if _, err := exec(ctx, tx, name, id); err != nil {
			return err
		}
	}
	return nil
}

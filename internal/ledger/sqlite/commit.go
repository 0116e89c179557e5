package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// errRepeated ends the transaction of a commit that went through before.
var errRepeated = errors.New("the commit went through before")

// Commit implements ledger.Firings.
func (l *Ledger) Commit(ctx context.Context, c ledger.Claim, run *ledger.Commit) (ledger.Committed, error) {
	plan := rows.NewPlan(c, run)
	if err := plan.Encode()(); err != nil { // before the transaction, for which others wait
		return ledger.Committed{}, failed("commit", err)
	}
	w := commit{claim: c, run: run, plan: plan}
	err := l.inTx(ctx, "commit", func(tx *sql.Tx) error { return w.write(ctx, tx) })
	if err != nil && !errors.Is(err, errRepeated) {
		return ledger.Committed{}, err
	}
	return w.done, nil
}

// commit is one transaction on its way.
type commit struct {
	claim ledger.Claim
	run   *ledger.Commit
	plan  *rows.Plan

	scopeID int64
	done    ledger.Committed
}

func (w *commit) write(ctx context.Context, tx *sql.Tx) error {
	if err := w.fence(ctx, tx); err != nil {
		return err
	}
	if err := w.dropExisting(ctx, tx); err != nil {
		return err
	}
	recipients, err := w.recipients(ctx, tx)
	if err != nil {
		return err
	}
	told, err := w.told(ctx, tx)
	if err != nil {
		return err
	}
	deliveries, unsubscribed := w.plan.Deliveries(recipients, told)
	w.done = ledger.Committed{
		Deliveries: len(deliveries), Unsubscribed: unsubscribed, Lanes: w.plan.LanesOf(deliveries),
	}
	if err := w.writeNotices(ctx, tx, deliveries); err != nil {
		return err
	}
	if err := writeFindings(ctx, tx, w.scopeID, rows.Micros(w.claim.Due), w.run.Findings); err != nil {
		return err
	}
	return w.writeState(ctx, tx)
}

// fence checks the claim, and whether this commit went through before.
func (w *commit) fence(ctx context.Context, tx *sql.Tx) error {
	var token, running int64
	if _, err := one(ctx, tx, "fence", []any{w.claim.Rule, w.claim.Scope}, &w.scopeID, &token, &running); err != nil {
		return err
	}
	var kept string
	due := rows.Micros(w.claim.Due)
	committed, err := one(ctx, tx, "last-answer", []any{w.claim.Rule, w.claim.Scope, due, w.claim.Token}, &kept)
	if err != nil {
		return err
	}
	if committed {
		done, same, err := rows.Same(kept, w.plan.Digest)
		if err != nil {
			return err
		}
		if same {
			w.done = done
			return errRepeated
		}
	}
	if running == 0 || token != w.claim.Token || running != due {
		return ledger.ErrFenced
	}
	return nil
}

func (w *commit) dropExisting(ctx context.Context, tx *sql.Tx) error {
	if len(w.plan.Notices) == 0 {
		return nil
	}
	existing := map[string]bool{}
	var id string
	err := each(ctx, tx, "existing-notices", []any{list(w.plan.IDs())}, []any{&id}, func() error {
		existing[id] = true
		return nil
	})
	w.plan.Drop(existing)
	return err
}

// recipients looks up whom each audience is.
func (w *commit) recipients(ctx context.Context, tx *sql.Tx) ([]string, error) {
	out := make([]string, len(w.plan.Audiences))
	for i, a := range w.plan.Audiences {
		found, err := recipients(ctx, tx, a.Type, a.Warehouse)
		if err != nil {
			return nil, err
		}
		out[i] = strings.Join(found, " ")
	}
	return out, nil
}

// recipients looks up the subscribers of a type in a warehouse, sorted.
func recipients(ctx context.Context, db queryer, typ, warehouse string) ([]string, error) {
	var found []string
	var subscriber string
	err := each(ctx, db, "recipients", []any{typ, warehouse}, []any{&subscriber}, func() error {
		found = append(found, subscriber)
		return nil
	})
	return found, err
}

// told finds where the notices went that others take back.
func (w *commit) told(ctx context.Context, tx *sql.Tx) (map[rows.Told]string, error) {
	after := w.plan.After()
	if len(after) == 0 {
		return nil, nil //nolint:nilnil // nothing was asked
	}
	found := make(map[rows.Told]string, len(after))
	var at rows.Told
	var recipients string
	err := each(ctx, tx, "told", []any{list(after)}, []any{&at.Notice, &at.Lane.Sink, &at.Lane.Warehouse, &recipients}, func() error {
		found[at] = recipients
		return nil
	})
	return found, err
}

func (w *commit) writeNotices(ctx context.Context, tx *sql.Tx, deliveries []rows.Delivery) error {
	notices := w.plan.Notices
	if len(notices) == 0 {
		return nil
	}
	last, err := take(ctx, tx, "notice", len(notices))
	if err != nil {
		return err
	}
	first := last - int64(len(notices)) + 1
	err = insertRows(ctx, tx, "insert-notices", len(notices), func(dst []any, i int) []any {
		n := &notices[i]
		return append(dst, first+int64(i), n.ID, n.Type, n.Rule, string(n.Status), rows.Micros(n.CreatedAt),
			rows.Micros(n.ExpiresAt), n.Body, rows.FindingOf(n.Notice))
	})
	if err != nil {
		return err
	}
	lanes, err := laneIDs(ctx, tx, w.plan.Lanes)
	if err != nil {
		return err
	}
	return insertRows(ctx, tx, "insert-deliveries", len(deliveries), func(dst []any, i int) []any {
		d := deliveries[i]
		return append(dst, first+int64(d.Notice), lanes[d.Lane], rows.Micros(notices[d.Notice].ExpiresAt), d.Recipients)
	})
}

// laneIDs returns the ids of the lanes, making those that are new.
func laneIDs(ctx context.Context, tx *sql.Tx, lanes []ledger.Lane) ([]int64, error) {
	ids := make([]int64, len(lanes))
	for i, lane := range lanes {
		found, err := one(ctx, tx, "lane", []any{lane.Sink, lane.Warehouse}, &ids[i])
		if err == nil && !found {
			_, err = one(ctx, tx, "add-lane", []any{lane.Sink, lane.Warehouse}, &ids[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// writeState writes the run and the scope.
func (w *commit) writeState(ctx context.Context, tx *sql.Tx) error {
	answer, err := rows.NewAnswer(w.plan.Digest, w.done)
	if err != nil {
		return err
	}
	watermark, err := rows.Watermark(w.run.Watermark)
	if err != nil {
		return err
	}
	if _, err := exec(ctx, tx, "record-run", rows.RunArgs(w.claim, &w.run.Run, answer, w.done.Unsubscribed)...); err != nil {
		return err
	}
	s := w.run.Scope
	_, err = exec(ctx, tx, "record-scope", w.scopeID, rows.Micros(s.LastDue), rows.Micros(s.LastOKDue),
		s.Clock.Microseconds(), watermark, rows.Micros(w.claim.Due), w.run.Again)
	return err
}

// writeFindings writes the findings that changed.
func writeFindings(ctx context.Context, tx *sql.Tx, scopeID, due int64, changes []ledger.FindingChange) error {
	byOp := map[ledger.Op][]*ledger.FindingChange{}
	for i := range changes {
		byOp[changes[i].Op] = append(byOp[changes[i].Op], &changes[i])
	}
	columns := func(dst []any, c *ledger.FindingChange) []any {
		f := rows.NewFinding(&c.State)
		dst = append(dst, scopeID, f.Key, f.Phase, f.Priority, f.Ordinal, f.Episode, f.SeenClock, f.AbsentSince,
			f.FiringSince, f.LastNotified, f.NoticeID, f.Group)
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
	n, err := exec(ctx, tx, "delete-findings", scopeID, list(keys))
	if err == nil && n != int64(len(keys)) {
		err = fmt.Errorf("delete findings: %d of %d are there", n, len(keys))
	}
	return err
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
			return fmt.Errorf("update findings: %q is not there", changed[i].Key)
		}
	}
	return nil
}

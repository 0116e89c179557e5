package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// Commit implements ledger.Firings.
func (l *Ledger) Commit(ctx context.Context, c ledger.Claim, run *ledger.Commit) (ledger.Committed, error) {
	plan := rows.NewPlan(c, run)
	encoded := plan.Encode()
	defer func() { _ = encoded() }() // told where it matters; here, nothing is to be left running
	lanes, err := l.laneIDs(ctx, plan.Lanes)
	if err != nil {
		return ledger.Committed{}, err
	}
	// Only a firing that was begun before should meet its own notices. Looking for them costs as much as the
	// rest of the fence, so others look when the key of the table says that they must.
	w := commit{claim: c, run: run, plan: plan, encoded: encoded, lanes: lanes, look: c.Repeated}
	err = l.inTx(ctx, "commit", func(tx pgx.Tx) error { return w.write(ctx, tx) })
	if !w.look && hasState(err, uniqueViolation) {
		w.look = true
		err = l.inTx(ctx, "commit", func(tx pgx.Tx) error { return w.write(ctx, tx) })
	}
	if err != nil && !errors.Is(err, errRepeated) {
		return ledger.Committed{}, err
	}
	return w.done, nil
}

// errRepeated ends the transaction of a commit that went through before.
var errRepeated = errors.New("the commit went through before")

// commit is one transaction on its way.
type commit struct {
	claim ledger.Claim
	run   *ledger.Commit
	plan  *rows.Plan
	lanes []int32 // ids of plan.Lanes
	look  bool    // for notices that are there already

	encoded func() error // waits for the bodies of the notices

	scopeID    int32
	recipients []string // of plan.Audiences
	told       map[rows.Told]string
	done       ledger.Committed
}

func (w *commit) write(ctx context.Context, tx pgx.Tx) error {
	if err := w.fence(ctx, tx); err != nil {
		return err
	}
	deliveries, unsubscribed := w.plan.Deliveries(w.recipients, w.told)
	w.done = ledger.Committed{
		Deliveries: len(deliveries), Unsubscribed: unsubscribed, Lanes: w.plan.LanesOf(deliveries),
	}
	seqs, err := w.takeSeqs(ctx, tx, deliveries)
	if err != nil {
		return err
	}
	if err := w.copyDeliveries(deliveries, seqs).run(ctx, tx.Conn(), "copy-deliveries"); err != nil {
		return err
	}
	if err := w.encoded(); err != nil {
		return err
	}
	if err := w.copyNotices(deliveries, seqs).run(ctx, tx.Conn(), "copy-notices"); err != nil {
		return err
	}
	return w.writeState(ctx, tx)
}

// fence locks the rule and scope, checks the claim, and asks in the same round trip for all that the rest
// of the commit depends on.
func (w *commit) fence(ctx context.Context, tx pgx.Tx) error {
	var token, running int64
	var kept string
	existing := map[string]bool{}
	w.recipients = make([]string, len(w.plan.Audiences))

	var b pgx.Batch
	b.Queue(queries.Get("fence"), w.claim.Rule, w.claim.Scope).QueryRow(func(r pgx.Row) error {
		return ignoreNone(r.Scan(&w.scopeID, &token, &running))
	})
	b.Queue(queries.Get("last-answer"), w.claim.Rule, w.claim.Scope, rows.Micros(w.claim.Due), w.claim.Token).
		QueryRow(func(r pgx.Row) error { return ignoreNone(r.Scan(&kept)) })
	if w.look && len(w.plan.Notices) > 0 {
		b.Queue(queries.Get("existing-notices"), w.plan.IDs()).Query(func(found pgx.Rows) error {
			var id string
			_, err := pgx.ForEachRow(found, []any{&id}, func() error { existing[id] = true; return nil })
			return err
		})
	}
	if len(w.plan.Audiences) > 0 {
		types, warehouses := w.audiences()
		b.Queue(queries.Get("recipients"), types, warehouses).Query(func(found pgx.Rows) error {
			var n int64
			var list string
			_, err := pgx.ForEachRow(found, []any{&n, &list}, func() error { w.recipients[n-1] = list; return nil })
			return err
		})
	}
	if after := w.plan.After(); len(after) > 0 {
		w.told = make(map[rows.Told]string, len(after))
		b.Queue(queries.Get("told"), after).Query(func(found pgx.Rows) error {
			var at rows.Told
			var recipients string
			_, err := pgx.ForEachRow(found, []any{&at.Notice, &at.Lane.Sink, &at.Lane.Warehouse, &recipients}, func() error {
				w.told[at] = recipients
				return nil
			})
			return err
		})
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	if kept != "" {
		done, same, err := rows.Same(kept, w.plan.Digest)
		if err != nil {
			return err
		}
		if same {
			w.done = done
			return errRepeated
		}
	}
	if running == 0 || token != w.claim.Token || running != rows.Micros(w.claim.Due) {
		return ledger.ErrFenced
	}
	if len(existing) == 0 {
		return nil
	}
	if err := w.encoded(); err != nil {
		return err
	}
	w.plan.Drop(existing)
	return nil
}

func ignoreNone(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

func (w *commit) audiences() (types, warehouses []string) {
	for _, a := range w.plan.Audiences {
		types, warehouses = append(types, a.Type), append(warehouses, a.Warehouse)
	}
	return types, warehouses
}

// takeSeqs locks the lanes of the deliveries and takes their numbers, which so ascend in the order of commit.
func (w *commit) takeSeqs(ctx context.Context, tx pgx.Tx, deliveries []rows.Delivery) ([]int64, error) {
	if len(deliveries) == 0 {
		return nil, nil
	}
	var seqs []int64
	var b pgx.Batch
	b.Queue(queries.Get("lock-lanes"), w.lanesOf(deliveries))
	b.Queue(queries.Get("take-seqs"), len(deliveries)).QueryRow(func(r pgx.Row) error { return r.Scan(&seqs) })
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	if len(seqs) != len(deliveries) {
		return nil, fmt.Errorf("take-seqs: %d numbers for %d deliveries", len(seqs), len(deliveries))
	}
	return seqs, nil
}

func (w *commit) lanesOf(deliveries []rows.Delivery) []int32 {
	used := make([]bool, len(w.lanes))
	var ids []int32
	for i := range deliveries {
		if at := deliveries[i].Lane; !used[at] {
			used[at] = true
			ids = append(ids, w.lanes[at])
		}
	}
	return ids
}

// writeState writes the findings, the run and the scope.
func (w *commit) writeState(ctx context.Context, tx pgx.Tx) error {
	f := newFindingChanges(w.scopeID, rows.Micros(w.claim.Due), w.run.Findings)
	if err := f.inserts.run(ctx, tx.Conn(), "copy-findings"); err != nil {
		return err
	}
	answer, err := rows.NewAnswer(w.plan.Digest, w.done)
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
	b.Queue(queries.Get("record-run"), rows.RunArgs(w.claim, &w.run.Run, answer, w.done.Unsubscribed)...)
	b.Queue(queries.Get("record-scope"), w.scopeID, rows.Micros(s.LastDue), rows.Micros(s.LastOKDue),
		s.Clock.Microseconds(), watermark, rows.Micros(w.claim.Due), w.run.Again)
	return tx.SendBatch(ctx, &b).Close()
}

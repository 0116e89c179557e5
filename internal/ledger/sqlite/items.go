package sqlite

import (
	"context"
	"database/sql"

	"tallyman/internal/item"
	"tallyman/internal/ledger/rows"
)

// PushItems implements ledger.Items.
func (l *Ledger) PushItems(ctx context.Context, queue string, items []item.Record) ([]item.Known, error) {
	if len(items) == 0 {
		return nil, nil
	}
	plan := rows.NewPush(items)
	err := l.inTx(ctx, "push items", func(tx *sql.Tx) error {
		id, err := queueID(ctx, tx, queue)
		if err != nil {
			return err
		}
		return push(ctx, tx, id, plan)
	})
	if err != nil {
		return nil, err
	}
	return plan.Known, nil
}

func push(ctx context.Context, tx *sql.Tx, queue int64, plan *rows.Push) error {
	var known, state, warehouse string
	var seq int64
	args := []any{queue, list(plan.IDs())}
	err := each(ctx, tx, "known-items", args, []any{&known, &seq, &state, &warehouse}, func() error {
		return plan.Is(known, seq, state, warehouse)
	})
	if err != nil {
		return err
	}
	seqs, err := takeSeqs(ctx, tx, plan.Count())
	if err != nil {
		return err
	}
	items := plan.Rows(seqs)
	err = insertRows(ctx, tx, "insert-items", len(items), func(dst []any, i int) []any {
		r := &items[i]
		return append(dst, r.Seq, queue, r.ID, r.Priority, r.Created, r.Ready, r.Until, r.Bucket, r.Key, r.Subject, r.By, r.Node,
			r.Payload, r.Warehouse)
	})
	if err != nil {
		return err
	}
	return insertRows(ctx, tx, "insert-open-items", len(items), func(dst []any, i int) []any {
		r := &items[i]
		return append(dst, queue, r.Seq, r.State, r.Moves, r.Attempt, r.Failures, r.Suspends, r.Due, r.Assignee, r.SubjectHash)
	})
}

// takeSeqs takes the numbers of so many items.
func takeSeqs(ctx context.Context, tx *sql.Tx, count int) ([]int64, error) {
	if count == 0 {
		return nil, nil
	}
	last, err := take(ctx, tx, "item", count)
	seqs := make([]int64, count)
	for i := range seqs {
		seqs[i] = last - int64(count-1-i)
	}
	return seqs, err
}

// RefuseItems implements ledger.Items.
func (l *Ledger) RefuseItems(ctx context.Context, queue string, refused []item.Refusal) error {
	if len(refused) == 0 {
		return nil
	}
	bySeq := make(map[int64]*item.Refusal, len(refused))
	seqs := make([]int64, len(refused))
	for i := range refused {
		seqs[i] = refused[i].Seq
		bySeq[seqs[i]] = &refused[i]
	}
	return l.inTx(ctx, "refuse items", func(tx *sql.Tx) error {
		id, err := queueID(ctx, tx, queue)
		if err != nil {
			return err
		}
		var was rows.Standing
		var traces []rows.Trail
		targets := []any{&was.Seq, &was.N, &was.State, &was.Attempt, &was.Failures, &was.Suspends, &was.Assignee}
		err = each(ctx, tx, "refuse-items", []any{id, list(seqs)}, targets, func() error {
			trail, err := rows.Refused(bySeq[was.Seq], &was)
			traces = append(traces, trail)
			return err
		})
		if err != nil {
			return err
		}
		err = insertRows(ctx, tx, "insert-ended-early", len(traces), func(dst []any, i int) []any {
			return append(dst, id, item.Refused.Letter(), traces[i].Seq)
		})
		if err != nil {
			return err
		}
		return insertMoves(ctx, tx, traces)
	})
}

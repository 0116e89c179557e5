package sqlite

import (
	"context"
	"database/sql"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/store"
)

// PushItems implements item.Journal.
func (l *Ledger) PushItems(ctx context.Context, queue string, items []item.Record) ([]item.PushAnswer, error) {
	if len(items) == 0 {
		return nil, nil
	}
	id, err := l.IDs.MakeQueue(ctx, queue)
	if err != nil {
		return nil, err
	}
	plan := codec.NewPush(items)
	if err := l.inTx(ctx, "push items", func(tx *sql.Tx) error { return push(ctx, tx, id, plan) }); err != nil {
		return nil, err
	}
	return plan.Known, nil
}

func push(ctx context.Context, tx *sql.Tx, queue int64, plan *codec.Push) error {
	var known, state, warehouse string
	var seq int64
	args := []any{queue, plan.IDs()}
	err := each(ctx, tx, "known-items", args, []any{&known, &seq, &state, &warehouse}, func() error {
		return plan.Is(known, seq, state, warehouse)
	})
	if err != nil {
		return err
	}
	err = store.Reopen(ctx, conn{tx}, queue, plan, func(seq int64) error {
		seqs := []int64{seq}
		for name, args := range map[string][]any{
			"prune-item-moves": {seqs}, "prune-ended-early": {queue, seqs}, "forget-withheld": {queue, seq}, "forget-item": {queue, seq},
		} {
			if _, err := exec(ctx, tx, name, args...); err != nil {
				return err
			}
		}
		return nil
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
			r.Payload, r.Warehouse, r.Order)
	})
	if err != nil {
		return err
	}
	err = insertRows(ctx, tx, "insert-open-items", len(items), func(dst []any, i int) []any {
		r := &items[i]
		return append(dst, queue, r.Seq, r.State, r.Moves, r.Attempt, r.Failures, r.Suspends, r.Due, r.Assignee, r.SubjectHash)
	})
	if err != nil {
		return err
	}
	return insertMoves(ctx, tx, plan.Traces)
}

// takeSeqs takes that many numbers for items.
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

// RefuseItems implements item.Journal.
func (l *Ledger) RefuseItems(ctx context.Context, queue string, refused []item.Refusal) error {
	if len(refused) == 0 {
		return nil
	}
	id, err := l.IDs.MakeQueue(ctx, queue)
	if err != nil {
		return err
	}
	r := codec.NewRefusals(refused)
	return l.inTx(ctx, "refuse items", func(tx *sql.Tx) error {
		if err := each(ctx, tx, "refuse-items", []any{id, r.Seqs}, r.Columns(), r.Add); err != nil {
			return err
		}
		err := insertRows(ctx, tx, "insert-ended-early", len(r.Trails), func(dst []any, i int) []any {
			return append(dst, id, item.Refused.Letter(), r.Trails[i].Seq)
		})
		if err != nil {
			return err
		}
		return insertMoves(ctx, tx, r.Trails)
	})
}

// ApplyMoves implements item.Journal.
func (l *Ledger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	id, err := l.IDs.MakeQueue(ctx, queue)
	if err != nil {
		return err
	}
	lane, err := l.IDs.MakeEventLane(ctx, entries)
	if err != nil {
		return err
	}
	return l.Recorder.Run(func(write store.Record) error {
		return l.inTx(ctx, "apply moves", func(tx *sql.Tx) error {
			position, err := positionOf(ctx, tx, id, epoch)
			if err != nil {
				return err
			}
			a := codec.NewApply(entries, position)
			if a.Position == position {
				return nil
			}
			// Before the events, whose notices have the new values.
			if err := reviseItems(ctx, tx, id, a.Revised); err != nil {
				return err
			}
			if err := l.writeEvents(ctx, tx, id, lane, codec.NewEvents(queue, entries[0].Events, a)); err != nil {
				return err
			}
			if err := insertMoves(ctx, tx, a.Traces); err != nil {
				return err
			}
			if err := changeItems(ctx, tx, id, a.Changed); err != nil {
				return err
			}
			if err := endItems(ctx, tx, id, append(a.Done, a.Early...)); err != nil {
				return err
			}
			if _, err := exec(ctx, tx, "move-on", id, epoch, a.Position); err != nil {
				return err
			}
			return write(ctx, conn{tx}, record.QueueChanges(a.Orders)...)
		})
	})
}

// positionOf returns the position that was last applied in the epoch.
func positionOf(ctx context.Context, tx *sql.Tx, id int64, epoch string) (int64, error) {
	var recorded, last string
	var position int64
	found, err := one(ctx, tx, "queue-position", []any{id}, &recorded, &last, &position)
	if err == nil && (!found || recorded != epoch) {
		return 0, ledger.ErrFenced
	}
	if last != epoch {
		position = 0
	}
	return position, err
}

func insertMoves(ctx context.Context, tx *sql.Tx, traces []codec.Trail) error {
	return insertRows(ctx, tx, "insert-item-moves", len(traces), func(dst []any, i int) []any {
		return append(dst, traces[i].Seq, traces[i].At, string(traces[i].Moves))
	})
}

func changeItems(ctx context.Context, tx *sql.Tx, queue int64, changed []codec.Standing) error {
	return repeat(ctx, tx, "change-item", len(changed), func(stmt *sql.Stmt, i int) error {
		s := &changed[i]
		_, err := stmt.ExecContext(ctx, queue, s.Seq, s.N, s.State, s.Attempt, s.Failures, s.Suspends, s.Due, codec.Text(s.Assignee), s.News)
		return err
	})
}

func reviseItems(ctx context.Context, tx *sql.Tx, queue int64, revised []codec.Revised) error {
	return repeat(ctx, tx, "revise-item", len(revised), func(stmt *sql.Stmt, i int) error {
		r := &revised[i]
		_, err := stmt.ExecContext(ctx, queue, r.Seq, r.N, r.Priority, r.Order, r.Source)
		return err
	})
}

// endItems ends items, and records which of them did not end as done.
func endItems(ctx context.Context, tx *sql.Tx, queue int64, ended []codec.Standing) error {
	var early []codec.Standing
	err := repeat(ctx, tx, "end-item", len(ended), func(stmt *sql.Stmt, i int) error {
		res, err := stmt.ExecContext(ctx, queue, ended[i].Seq, ended[i].N)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if n == 1 && ended[i].State != item.Done.Letter() {
			early = append(early, ended[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	return insertRows(ctx, tx, "insert-ended-early", len(early), func(dst []any, i int) []any {
		return append(dst, queue, early[i].State, early[i].Seq)
	})
}

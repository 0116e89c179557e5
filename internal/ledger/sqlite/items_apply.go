package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// ApplyMoves implements ledger.Items.
func (l *Ledger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	recorded := false
	err := l.inTx(ctx, "apply moves", func(tx *sql.Tx) error {
		id, err := queueID(ctx, tx, queue)
		if err != nil {
			return err
		}
		position, err := positionOf(ctx, tx, id, epoch)
		if err != nil {
			return err
		}
		a := rows.NewApply(entries, position)
		if a.Position == position {
			return nil
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
		if len(a.Orders) > 0 {
			l.step(ledger.StepChanged)
		}
		for _, o := range a.Orders {
			who, c := record.QueueChanged(o)
			if err := l.addRecord(ctx, tx, who, c); err != nil {
				return err
			}
			l.step(ledger.StepRecorded)
			recorded = true
		}
		_, err = exec(ctx, tx, "move-on", id, epoch, a.Position)
		return err
	})
	if recorded && err == nil {
		l.step(ledger.StepCommitted)
	}
	return err
}

// positionOf returns the position of what was applied last in the epoch.
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

func insertMoves(ctx context.Context, tx *sql.Tx, traces []rows.Trail) error {
	return insertRows(ctx, tx, "insert-item-moves", len(traces), func(dst []any, i int) []any {
		return append(dst, traces[i].Seq, traces[i].At, string(traces[i].Moves))
	})
}

func changeItems(ctx context.Context, tx *sql.Tx, queue int64, changed []rows.Standing) error {
	return repeat(ctx, tx, "change-item", len(changed), func(stmt *sql.Stmt, i int) error {
		s := &changed[i]
		_, err := stmt.ExecContext(ctx, queue, s.Seq, s.N, s.State, s.Attempt, s.Failures, s.Suspends, s.Due, rows.Text(s.Assignee))
		return err
	})
}

// endItems ends items, and notes those that ended otherwise than done.
func endItems(ctx context.Context, tx *sql.Tx, queue int64, ended []rows.Standing) error {
	var early []rows.Standing
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

// repeat prepares the query by name and calls run with it for 0 … n-1.
func repeat(ctx context.Context, tx *sql.Tx, name string, n int, run func(stmt *sql.Stmt, i int) error) error {
	if n == 0 {
		return nil
	}
	stmt, err := tx.PrepareContext(ctx, queries.Get(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { _ = stmt.Close() }() // the transaction closes what it prepared
	for i := range n {
		if err := run(stmt, i); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// AppliedMoves implements ledger.Items.
func (l *Ledger) AppliedMoves(ctx context.Context, queue, epoch string) (int64, error) {
	var position int64
	if _, err := one(ctx, l.read, "applied", []any{queue, epoch}, &position); err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	return position, nil
}

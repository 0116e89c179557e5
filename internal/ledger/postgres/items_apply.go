package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/ledger/store"
)

// ApplyMoves implements item.Journal.
func (l *Ledger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	id, err := l.IDs.MakeQueue(ctx, queue)
	if err != nil {
		return err
	}
	var position int64
	begin := func(b *pgx.Batch) {
		b.Queue(queries.Get("by-key"))
		if rows.HasOrders(entries) { // before the queue, as whoever pauses it
			b.Queue(queries.Get("lock-audit"))
		}
		b.Queue(queries.Get("lock-queue"), id).QueryRow(func(r pgx.Row) error {
			var err error
			position, err = positionIn(r, epoch)
			return err
		})
	}
	return l.Recorder.RunOrders(func(record store.RecordOrders) error {
		return l.inShortTx(ctx, "apply moves", begin, func(ctx context.Context, db *pgx.Conn, last *pgx.Batch) error {
			a := rows.NewApply(entries, position)
			if a.Position == position {
				return nil
			}
			queueStandings(last, id, a)
			last.Queue(queries.Get("move-on"), id, epoch, a.Position)
			if err := copyMoves(a.Traces).run(ctx, db, "copy-item-moves"); err != nil {
				return err
			}
			return record(ctx, conn{db}, a.Orders)
		})
	})
}

// positionIn returns the position of what was applied last in the epoch. ErrFenced if that is not the recorded one.
func positionIn(r pgx.Row, epoch string) (int64, error) {
	var recorded, last string
	var position int64
	err := r.Scan(&recorded, &last, &position)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && recorded != epoch {
		return 0, ledger.ErrFenced
	}
	if last != epoch {
		position = 0
	}
	return position, err
}

// copyMoves makes the rows of item_moves.
func copyMoves(traces []rows.Trail) *copyRows {
	const fixed = 2 + 3*4 + 2*8
	size := 0
	for i := range traces {
		size += fixed + len(traces[i].Moves)
	}
	out := newCopyRows(size)
	for i := range traces {
		out.row(3)
		out.int64(traces[i].Seq)
		out.int64(traces[i].At)
		out.bytes(traces[i].Moves) // text in binary form is its bytes
	}
	return out
}

// queueStandings adds the statements that change how items stand.
func queueStandings(b *pgx.Batch, id int64, a *rows.Apply) {
	if len(a.Done) > 0 {
		c := columnsOf(a.Done)
		b.Queue(queries.Get("end-items"), id, c.seqs, c.moves)
	}
	if len(a.Early) > 0 {
		c := columnsOf(a.Early)
		b.Queue(queries.Get("end-items-early"), id, c.seqs, c.moves, c.states)
	}
	if len(a.Changed) > 0 {
		c := columnsOf(a.Changed)
		b.Queue(queries.Get("change-items"), id, c.seqs, c.moves, c.states, c.attempts, c.failures, c.suspends, c.dues, c.assignees)
	}
}

// standingColumns are standings as the statements take them.
type standingColumns struct {
	seqs, moves, dues, attempts []int64
	failures, suspends          []int32
	states, assignees           []string
}

func columnsOf(list []rows.Standing) standingColumns {
	var c standingColumns
	for i := range list {
		s := &list[i]
		c.seqs, c.moves, c.dues = append(c.seqs, s.Seq), append(c.moves, s.N), append(c.dues, s.Due)
		c.attempts, c.failures, c.suspends = append(c.attempts, s.Attempt), append(c.failures, s.Failures), append(c.suspends, s.Suspends)
		c.states, c.assignees = append(c.states, s.State), append(c.assignees, rows.Text(s.Assignee))
	}
	return c
}

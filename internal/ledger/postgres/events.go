package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger/codec"
)

// writeEvents writes the notices of events. writeEvents must run before the items change, because it reads their old
// state. The statements that it adds to last come before the statements of the moves.
func (l *Ledger) writeEvents(ctx context.Context, db *pgx.Conn, last *pgx.Batch, queue, lane int64, e *codec.Events) error {
	if len(e.Seqs()) == 0 {
		return nil
	}
	found, err := db.Query(ctx, queries.Get("event-items"), queue, e.Seqs(), l.NowArg(), int64(codec.EndedMoves))
	if err == nil {
		_, err = pgx.ForEachRow(found, e.Columns(), e.Add)
	}
	if err != nil || len(e.Notices) == 0 {
		return err
	}
	plan := codec.PlanOf(e.Notices)
	n := &noticeWriter{ledger: l, plan: plan, lanes: []int64{lane}, encoded: plan.Encode(), checksExisting: true}
	defer n.release()
	var b pgx.Batch
	n.ask(&b)
	if err := db.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	last.Queue(queries.Get("by-key")) // n.ask has switched to another plan setting
	return n.write(ctx, db)
}

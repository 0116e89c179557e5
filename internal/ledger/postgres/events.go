package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger/codec"
)

// tell writes the notices of events, before the items move on. What it leaves in the last batch comes before their moves.
func (l *Ledger) tell(ctx context.Context, db *pgx.Conn, last *pgx.Batch, queue, lane int64, e *codec.Events) error {
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
	n := &noticeWriter{ledger: l, plan: plan, lanes: []int64{lane}, encoded: plan.Encode(), look: true}
	defer n.release()
	var b pgx.Batch
	n.ask(&b)
	if err := db.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	last.Queue(queries.Get("by-key")) // which ask has taken back
	return n.write(ctx, db)
}

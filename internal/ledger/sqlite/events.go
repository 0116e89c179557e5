package sqlite

import (
	"context"
	"database/sql"

	"tallyman/internal/ledger/codec"
)

// writeEvents writes the notices of events. writeEvents must run before the items change, because it reads their old
// state.
func (l *Ledger) writeEvents(ctx context.Context, tx *sql.Tx, queue, lane int64, e *codec.Events) error {
	if len(e.Seqs()) == 0 {
		return nil
	}
	now := l.nowMicros()
	if err := each(ctx, tx, "event-items", []any{queue, e.Seqs(), now, int64(codec.EndedMoves)}, e.Columns(), e.Add); err != nil {
		return err
	}
	plan := codec.PlanOf(e.Notices)
	if err := plan.Encode()(); err != nil {
		return err
	}
	n := noticeWriter{plan: plan, lanes: []int64{lane}, now: now}
	return n.write(ctx, tx)
}

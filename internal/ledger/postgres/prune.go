package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger/rows"
)

// pruneItems removes the items that have ended before, queue by queue. Items lie about in the order in which they were
// created: where a page has none that is old, there are hardly any behind it.
func (l *Ledger) pruneItems(ctx context.Context, before time.Time) (int64, error) {
	queues, err := query(ctx, l, "queue-ids", pgx.RowTo[int32])
	if err != nil {
		return 0, err
	}
	var removed int64
	for _, id := range queues {
		p := itemPage{more: true}
		for p.more {
			page, err := queryByKey(ctx, l, "prune-items", scanItemPage, id, p.last, pruneBatch, rows.Micros(before), l.clock())
			if err != nil {
				return removed, err
			}
			p = page[0]
			removed += p.gone
		}
	}
	return removed, nil
}

// itemPage is what became of one page of a queue's items.
type itemPage struct {
	last, gone int64
	more       bool // it had an item that is old
}

func scanItemPage(r pgx.CollectableRow) (itemPage, error) {
	var p itemPage
	err := r.Scan(&p.last, &p.more, &p.gone)
	return p, err
}

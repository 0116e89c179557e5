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
		after := int64(0)
		for {
			var last *int64
			var old bool
			var gone int64
			err := l.pool.QueryRow(ctx, queries.Get("prune-items"), id, after, pruneBatch, rows.Micros(before), l.clock()).
				Scan(&last, &old, &gone)
			if err != nil {
				return removed, failed("prune", err)
			}
			removed += gone
			if last == nil || !old {
				break
			}
			after = *last
		}
	}
	return removed, nil
}

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// CountNotices implements ledger.Overviews.
func (l *Ledger) CountNotices(ctx context.Context, from, to time.Time, part time.Duration) ([]ledger.NoticeCount, error) {
	return query(ctx, l, "count-notices", func(r pgx.CollectableRow) (ledger.NoticeCount, error) {
		var c ledger.NoticeCount
		var start int64
		err := r.Scan(&start, &c.Warehouse, &c.Count, &c.Urgent)
		c.Start = rows.Time(start)
		return c, err
	}, rows.Micros(from), rows.Micros(to), part.Microseconds())
}

// CountFindings implements ledger.Overviews.
func (l *Ledger) CountFindings(ctx context.Context) ([]ledger.FindingCount, error) {
	return query(ctx, l, "count-findings", func(r pgx.CollectableRow) (ledger.FindingCount, error) {
		var c ledger.FindingCount
		err := r.Scan(&c.Warehouse, &c.Firing, &c.Pending)
		return c, err
	})
}

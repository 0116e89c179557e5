package sqlite

import (
	"context"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// CountNotices implements ledger.Overviews.
func (l *Ledger) CountNotices(ctx context.Context, from, to time.Time, part time.Duration) ([]ledger.NoticeCount, error) {
	var out []ledger.NoticeCount
	var c ledger.NoticeCount
	var start int64
	args := []any{rows.Micros(from), rows.Micros(to), part.Microseconds()}
	err := each(ctx, l.read, "count-notices", args, []any{&start, &c.Warehouse, &c.Count, &c.Urgent}, func() error {
		c.Start = rows.Time(start)
		out = append(out, c)
		return nil
	})
	if err != nil {
		return nil, failed("count-notices", err)
	}
	return out, nil
}

// CountFindings implements ledger.Overviews.
func (l *Ledger) CountFindings(ctx context.Context) ([]ledger.FindingCount, error) {
	var out []ledger.FindingCount
	var c ledger.FindingCount
	err := each(ctx, l.read, "count-findings", nil, []any{&c.Warehouse, &c.Firing, &c.Pending}, func() error {
		out = append(out, c)
		return nil
	})
	if err != nil {
		return nil, failed("count-findings", err)
	}
	return out, nil
}

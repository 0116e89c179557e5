package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// pruneBatch is how many rows one statement of Prune removes at most.
const pruneBatch = 2000

// LastRuns implements ledger.Reader.
func (l *Ledger) LastRuns(ctx context.Context) ([]ledger.Run, error) {
	return query(ctx, l, "last-runs", scanRun)
}

// Runs implements ledger.Reader.
func (l *Ledger) Runs(ctx context.Context, rule string, scope *string, limit int) ([]ledger.Run, error) {
	return query(ctx, l, "runs", scanRun, rule, scope, limit)
}

func scanRun(r pgx.CollectableRow) (ledger.Run, error) {
	var run rows.Run
	if err := r.Scan(run.Columns()...); err != nil {
		return ledger.Run{}, err
	}
	return run.Run()
}

// Judged implements ledger.Reader.
func (l *Ledger) Judged(ctx context.Context) ([]ledger.Judged, error) {
	return query(ctx, l, "judged", func(r pgx.CollectableRow) (ledger.Judged, error) {
		var j ledger.Judged
		var last string
		if err := r.Scan(&j.Rule, &j.Scope, &j.Runs, &j.Rows, &j.Errored, &last); err != nil {
			return j, err
		}
		var err error
		j.Last, err = rows.Briefs(last)
		return j, err
	}, ledger.LastBriefs)
}

// Promotions implements ledger.Reader.
func (l *Ledger) Promotions(ctx context.Context) ([]ledger.Promotion, error) {
	return query(ctx, l, "promotions", func(r pgx.CollectableRow) (ledger.Promotion, error) {
		var p ledger.Promotion
		var at int64
		err := r.Scan(&p.Rule, &p.Scope, &at, &p.By)
		p.At = rows.Time(at)
		return p, err
	})
}

// Totals implements ledger.Reader.
func (l *Ledger) Totals(ctx context.Context) ([]ledger.Total, error) {
	return query(ctx, l, "totals", func(r pgx.CollectableRow) (ledger.Total, error) {
		var t ledger.Total
		var latest int64
		err := r.Scan(&t.Type, &t.Rule, &t.Status, &t.Count, &latest)
		t.Latest = rows.Time(latest)
		return t, err
	})
}

// Prune implements ledger.Ledger.
func (l *Ledger) Prune(ctx context.Context, before time.Time, keepRuns int) (int64, error) {
	var removed int64
	for {
		expired, err := query(ctx, l, "long-expired", pgx.RowTo[int64], rows.Micros(before), pruneBatch, l.clock())
		if err != nil {
			return removed, err
		}
		if len(expired) == 0 {
			break
		}
		if err := l.expireDeliveries(ctx, expired); err != nil {
			return removed, err
		}
	}
	for {
		var notices, deliveries int64
		err := l.pool.QueryRow(ctx, queries.Get("prune-notices"), rows.Micros(before), pruneBatch, l.clock()).
			Scan(&notices, &deliveries)
		if err != nil {
			return removed, failed("prune", err)
		}
		removed += notices + deliveries
		if notices < pruneBatch {
			break
		}
	}
	if _, err := l.exec(ctx, "prune-reads", rows.Micros(before), l.clock()); err != nil {
		return removed, err
	}
	silences, err := l.exec(ctx, "prune-silences", rows.Micros(before))
	removed += silences
	if err != nil {
		return removed, err
	}
	items, err := l.pruneItems(ctx, before)
	removed += items
	if err != nil {
		return removed, err
	}
	for {
		n, err := l.exec(ctx, "prune-firings", max(keepRuns, 1), pruneBatch)
		if err != nil {
			return removed, err
		}
		removed += n
		if n < pruneBatch {
			return removed, nil
		}
	}
}

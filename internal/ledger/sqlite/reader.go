package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// pruneBatch is how many notices or firings one transaction of Prune removes at most. Commits wait for it, so
// it is short.
const pruneBatch = 500

// LastRuns implements ledger.Reader.
func (l *Ledger) LastRuns(ctx context.Context) ([]ledger.Run, error) {
	return l.runs(ctx, "last-runs")
}

// Runs implements ledger.Reader.
func (l *Ledger) Runs(ctx context.Context, rule string, scope *string, limit int) ([]ledger.Run, error) {
	return l.runs(ctx, "runs", rule, scope, limit)
}

func (l *Ledger) runs(ctx context.Context, name string, args ...any) ([]ledger.Run, error) {
	var out []ledger.Run
	var r rows.Run
	err := each(ctx, l.read, name, args, r.Columns(), func() error {
		run, err := r.Run()
		out = append(out, run)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// Judged implements ledger.Reader.
func (l *Ledger) Judged(ctx context.Context) ([]ledger.Judged, error) {
	var out []ledger.Judged
	var j ledger.Judged
	var last string
	err := each(ctx, l.read, "judged", []any{ledger.LastBriefs}, []any{&j.Rule, &j.Scope, &j.Runs, &j.Rows, &j.Errored, &last}, func() (err error) {
		j.Last, err = rows.Briefs(last)
		out = append(out, j)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// Promotions implements ledger.Reader.
func (l *Ledger) Promotions(ctx context.Context) ([]ledger.Promotion, error) {
	var out []ledger.Promotion
	var p ledger.Promotion
	var at int64
	err := each(ctx, l.read, "promotions", nil, []any{&p.Rule, &p.Scope, &at, &p.By}, func() error {
		p.At = rows.Time(at)
		out = append(out, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// Totals implements ledger.Reader.
func (l *Ledger) Totals(ctx context.Context) ([]ledger.Total, error) {
	var out []ledger.Total
	var t ledger.Total
	var latest int64
	err := each(ctx, l.read, "totals", nil, []any{&t.Type, &t.Rule, &t.Status, &t.Count, &latest}, func() error {
		t.Latest = rows.Time(latest)
		out = append(out, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// Prune implements ledger.Ledger.
func (l *Ledger) Prune(ctx context.Context, before time.Time, keepRuns int) (int64, error) {
	for {
		expired, err := l.longExpired(ctx, before)
		if err != nil {
			return 0, err
		}
		if len(expired) == 0 {
			break
		}
		if err := l.expireDeliveries(ctx, expired); err != nil {
			return 0, err
		}
	}
	var removed int64
	for {
		notices, all, err := l.pruneNotices(ctx, before)
		if err != nil {
			return removed, err
		}
		removed += all
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

// longExpired returns one batch of deliveries that wait although their notices have expired long ago.
func (l *Ledger) longExpired(ctx context.Context, before time.Time) ([]int64, error) {
	var expired []int64
	var seq int64
	args := []any{rows.Micros(before), pruneBatch, l.clock()}
	err := each(ctx, l.read, "long-expired", args, []any{&seq}, func() error {
		expired = append(expired, seq)
		return nil
	})
	if err != nil {
		return nil, failed("prune", err)
	}
	return expired, nil
}

// pruneNotices removes one batch of notices with their deliveries and marks, and returns the number of notices and deliveries.
func (l *Ledger) pruneNotices(ctx context.Context, before time.Time) (notices, all int64, err error) {
	err = l.inTx(ctx, "prune", func(tx *sql.Tx) error {
		var old string
		if _, err := one(ctx, tx, "old-notices", []any{rows.Micros(before), pruneBatch, l.clock()}, &old); err != nil {
			return err
		}
		for _, name := range []string{"prune-pushes", "prune-marks"} {
			if _, err := exec(ctx, tx, name, old); err != nil {
				return err
			}
		}
		deliveries, err := exec(ctx, tx, "prune-deliveries", old)
		if err != nil {
			return err
		}
		notices, err = exec(ctx, tx, "prune-notices", old)
		all = notices + deliveries
		return err
	})
	return notices, all, err
}

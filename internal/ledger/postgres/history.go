package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/notice"
)

// Promote implements ledger.Shadows.
func (l *Ledger) Promote(ctx context.Context, who ledger.Author, rule, scope string, at time.Time) error {
	return l.change(ctx, "promote", who, func(tx pgx.Tx) (*ledger.Change, error) {
		before, err := one(ctx, tx, "promotion", pgx.RowToStructByPos[rows.Promotion], rule, scope)
		switch {
		case err != nil:
			return nil, err
		case before == nil:
			return nil, notKnown(rule, scope)
		case before.At != 0:
			return nil, nil //nolint:nilnil // it is live
		}
		_, err = tx.Exec(ctx, queries.Get("promote"), rule, scope, who.By, rows.Micros(at))
		return record.Promoted(&ledger.Promotion{Rule: rule, Scope: scope, At: at, By: who.By}), err
	})
}

// Demote implements ledger.Shadows.
func (l *Ledger) Demote(ctx context.Context, who ledger.Author, rule, scope string) error {
	return l.change(ctx, "demote", who, func(tx pgx.Tx) (*ledger.Change, error) {
		before, err := one(ctx, tx, "promotion", pgx.RowToStructByPos[rows.Promotion], rule, scope)
		if err != nil || before == nil || before.At == 0 {
			return nil, err
		}
		_, err = tx.Exec(ctx, queries.Get("promote"), rule, scope, "", 0)
		return record.Demoted(before.Of(rule, scope)), err
	})
}

// Finding implements ledger.History.
func (l *Ledger) Finding(ctx context.Context, rule, scope, key string) (ledger.Finding, error) {
	var f rows.Finding
	var seen []byte
	var due int64
	err := l.pool.QueryRow(ctx, queries.Get("finding"), rule, scope, keyHash(key)).Scan(append(f.Columns(), &seen, &due)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.Finding{}, fmt.Errorf("%w: an open finding %s", ledger.ErrNotFound, key)
	}
	if err != nil {
		return ledger.Finding{}, failed("finding", err)
	}
	return ledger.Finding{State: f.State(), Row: seen, RowDue: rows.Time(due)}, nil
}

// Trace implements ledger.History.
func (l *Ledger) Trace(ctx context.Context, rule, scope string, keys, ids []string, limit int) ([]ledger.Traced, error) {
	list, err := query(ctx, l, "trace", func(r pgx.CollectableRow) (*notice.Notice, error) {
		var body []byte
		if err := r.Scan(&body); err != nil {
			return nil, err
		}
		return notice.Unmarshal(body)
	}, rows.FindingHashes(rule, scope, keys), ids, limit)
	if err != nil {
		return nil, err
	}
	t := rows.NewTrace(list, rule, scope, keys, ids)
	found, err := l.pool.Query(ctx, queries.Get("trace-deliveries"), t.IDs())
	if err != nil {
		return nil, failed("trace", err)
	}
	var d rows.TracedDelivery
	if _, err := pgx.ForEachRow(found, d.Columns(), func() error { t.Add(&d); return nil }); err != nil {
		return nil, failed("trace", err)
	}
	return t.Notices, nil
}

// LastPlan implements ledger.Plans.
func (l *Ledger) LastPlan(ctx context.Context, rule, scope string) (ledger.ProbePlan, error) {
	var p rows.ProbePlan
	err := l.pool.QueryRow(ctx, queries.Get("last-plan"), rule, scope).Scan(p.Columns()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.ProbePlan{}, fmt.Errorf("%w: a plan of rule %q in scope %q", ledger.ErrNotFound, rule, scope)
	}
	if err != nil {
		return ledger.ProbePlan{}, failed("last plan", err)
	}
	return p.Plan(rule, scope), nil
}

// RecordPlan implements ledger.Plans.
func (l *Ledger) RecordPlan(ctx context.Context, p ledger.ProbePlan) error {
	_, err := l.exec(ctx, "record-plan", rows.PlanArgs(p)...)
	return err
}

// Recipients implements ledger.CatalogueReader.
func (l *Ledger) Recipients(ctx context.Context, typ, warehouse string) ([]string, error) {
	var n int64
	var list, mail string
	err := l.pool.QueryRow(ctx, queries.Get("recipients"), []string{typ}, []string{warehouse}).Scan(&n, &list, &mail)
	if err := ignoreNone(err); err != nil {
		return nil, failed("recipients", err)
	}
	return rows.Recipients(list), nil
}

package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/notice"
)

// Promote implements ledger.Shadows.
func (l *Ledger) Promote(ctx context.Context, who ledger.Author, rule, scope string, at time.Time) error {
	return l.change(ctx, "promote", who, func(tx *sql.Tx) (*ledger.Change, error) {
		var before rows.Promotion
		there, err := one(ctx, tx, "promotion", []any{rule, scope}, &before.At, &before.By)
		switch {
		case err != nil:
			return nil, err
		case !there:
			return nil, notKnown(rule, scope)
		case before.At != 0:
			return nil, nil //nolint:nilnil // it is live
		}
		_, err = exec(ctx, tx, "promote", rule, scope, who.By, rows.Micros(at))
		return record.Promoted(&ledger.Promotion{Rule: rule, Scope: scope, At: at, By: who.By}), err
	})
}

// Demote implements ledger.Shadows.
func (l *Ledger) Demote(ctx context.Context, who ledger.Author, rule, scope string) error {
	return l.change(ctx, "demote", who, func(tx *sql.Tx) (*ledger.Change, error) {
		var before rows.Promotion
		if _, err := one(ctx, tx, "promotion", []any{rule, scope}, &before.At, &before.By); err != nil || before.At == 0 {
			return nil, err
		}
		_, err := exec(ctx, tx, "promote", rule, scope, "", 0)
		return record.Demoted(before.Of(rule, scope)), err
	})
}

// Finding implements ledger.History.
func (l *Ledger) Finding(ctx context.Context, rule, scope, key string) (ledger.Finding, error) {
	var f rows.Finding
	var seen []byte
	var due int64
	found, err := one(ctx, l.read, "finding", []any{rule, scope, key}, append(f.Columns(), &seen, &due)...)
	if err != nil {
		return ledger.Finding{}, fmt.Errorf("ledger: %w", err)
	}
	if !found {
		return ledger.Finding{}, fmt.Errorf("%w: an open finding %s", ledger.ErrNotFound, key)
	}
	return ledger.Finding{State: f.State(), Row: seen, RowDue: rows.Time(due)}, nil
}

// Trace implements ledger.History.
func (l *Ledger) Trace(ctx context.Context, rule, scope string, keys, ids []string, limit int) ([]ledger.Traced, error) {
	var notices []*notice.Notice
	var body sql.RawBytes
	args := []any{list(rows.FindingHashes(rule, scope, keys)), list(ids), limit}
	err := each(ctx, l.read, "trace", args, []any{&body}, func() error {
		n, err := notice.Unmarshal(body)
		notices = append(notices, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	t := rows.NewTrace(notices, rule, scope, keys, ids)
	var d rows.TracedDelivery
	err = each(ctx, l.read, "trace-deliveries", []any{list(t.IDs())}, d.Columns(), func() error { t.Add(&d); return nil })
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return t.Notices, nil
}

// LastPlan implements ledger.Plans.
func (l *Ledger) LastPlan(ctx context.Context, rule, scope string) (ledger.ProbePlan, error) {
	var p rows.ProbePlan
	found, err := one(ctx, l.read, "last-plan", []any{rule, scope}, p.Columns()...)
	if err != nil {
		return ledger.ProbePlan{}, fmt.Errorf("ledger: %w", err)
	}
	if !found {
		return ledger.ProbePlan{}, fmt.Errorf("%w: a plan of rule %q in scope %q", ledger.ErrNotFound, rule, scope)
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
	found, err := recipients(ctx, l.read, typ, warehouse)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return rows.Recipients(found.All), nil
}

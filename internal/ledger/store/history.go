package store

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/notice"
)

// Finding implements ledger.Traces.
func (s *Store) Finding(ctx context.Context, rule, scope, key string) (ledger.Finding, error) {
	var row rows.Finding
	var seen []byte
	var due int64
	found, err := s.db.One(ctx, "finding", []any{rule, scope, []byte(key)}, append(row.Columns(), &seen, &due)...)
	if err != nil {
		return ledger.Finding{}, err
	}
	if !found {
		return ledger.Finding{}, fmt.Errorf("%w: an open finding %s", ledger.ErrNotFound, key)
	}
	return ledger.Finding{State: row.State(), Row: seen, RowDue: rows.Time(due)}, nil
}

// Trace implements ledger.Traces.
func (s *Store) Trace(ctx context.Context, rule, scope string, keys, ids []string, limit int) ([]ledger.NoticeTrace, error) {
	var b body
	args := []any{rows.FindingHashes(rule, scope, keys), ids, limit}
	notices, err := list(ctx, s.db, "trace", args, []any{&b}, func() (*notice.Notice, error) { return notice.Unmarshal(b) })
	if err != nil {
		return nil, err
	}
	t := rows.NewTrace(notices, rule, scope, keys, ids)
	var d rows.DeliveryTrace
	if err := s.db.Each(ctx, "trace-deliveries", []any{t.IDs()}, d.Columns(), func() error { t.Add(&d); return nil }); err != nil {
		return nil, err
	}
	return t.Notices, nil
}

// SearchNotices implements ledger.Search.
func (s *Store) SearchNotices(ctx context.Context, f ledger.NoticeFilter) (ledger.NoticePage, error) {
	search := rows.NewSearch(f)
	return search.Run(func(a *rows.LookArgs) ([]rows.Candidate, bool, error) { return s.db.LookAtNotices(ctx, search, a) })
}

// LastPlan implements ledger.Plans.
func (s *Store) LastPlan(ctx context.Context, rule, scope string) (ledger.ProbePlan, error) {
	var row rows.ProbePlan
	found, err := s.db.One(ctx, "last-plan", []any{rule, scope}, row.Columns()...)
	if err != nil {
		return ledger.ProbePlan{}, err
	}
	if !found {
		return ledger.ProbePlan{}, fmt.Errorf("%w: a plan of rule %q in scope %q", ledger.ErrNotFound, rule, scope)
	}
	return row.Plan(rule, scope), nil
}

// RecordPlan implements ledger.Plans.
func (s *Store) RecordPlan(ctx context.Context, p ledger.ProbePlan) error {
	_, err := s.db.Exec(ctx, "record-plan", rows.PlanArgs(p)...)
	return err
}

// LastRuns implements ledger.RunSummary.
func (s *Store) LastRuns(ctx context.Context) ([]ledger.Run, error) {
	return s.runs(ctx, "last-runs")
}

// Runs implements ledger.Runs.
func (s *Store) Runs(ctx context.Context, rule string, scope *string, limit int) ([]ledger.Run, error) {
	return s.runs(ctx, "runs", rule, scope, limit)
}

func (s *Store) runs(ctx context.Context, name string, args ...any) ([]ledger.Run, error) {
	var row rows.Run
	return list(ctx, s.db, name, args, row.Columns(), row.Run)
}

// RunAt implements ledger.Search.
func (s *Store) RunAt(ctx context.Context, rule, scope string, at time.Time) (ledger.Run, error) {
	var row rows.Run
	found, err := one(ctx, s.db, "run-at", []any{rule, scope, rows.Micros(at)}, row.Columns(), row.Run)
	if err != nil {
		return ledger.Run{}, err
	}
	if found == nil {
		return ledger.Run{}, fmt.Errorf("%w: a run of rule %q in scope %q", ledger.ErrNotFound, rule, scope)
	}
	return *found, nil
}

// RunSums implements ledger.RunSummary.
func (s *Store) RunSums(ctx context.Context) ([]ledger.RunSum, error) {
	var j ledger.RunSum
	var last string
	targets := []any{&j.Rule, &j.Scope, &j.Runs, &j.Rows, &j.Errored, &last}
	return list(ctx, s.db, "run-sums", []any{ledger.LastBriefs}, targets, func() (_ ledger.RunSum, err error) {
		j.Last, err = rows.Briefs(last)
		return j, err
	})
}

// Totals implements ledger.Runs.
func (s *Store) Totals(ctx context.Context) ([]ledger.Total, error) {
	var t ledger.Total
	var latest int64
	return list(ctx, s.db, "totals", nil, []any{&t.Type, &t.Rule, &t.Status, &t.Count, &latest}, func() (ledger.Total, error) {
		t.Latest = rows.Time(latest)
		return t, nil
	})
}

// CountNotices implements ledger.Overviews.
func (s *Store) CountNotices(ctx context.Context, from, to time.Time, part time.Duration) ([]ledger.NoticeCount, error) {
	var c ledger.NoticeCount
	var start int64
	args := []any{rows.Micros(from), rows.Micros(to), part.Microseconds()}
	return list(ctx, s.db, "count-notices", args, []any{&start, &c.Warehouse, &c.Count, &c.Urgent}, func() (ledger.NoticeCount, error) {
		c.Start = rows.Time(start)
		return c, nil
	})
}

// CountFindings implements ledger.Overviews.
func (s *Store) CountFindings(ctx context.Context) ([]ledger.FindingCount, error) {
	var c ledger.FindingCount
	return list(ctx, s.db, "count-findings", nil, []any{&c.Warehouse, &c.Firing, &c.Pending}, func() (ledger.FindingCount, error) { return c, nil })
}

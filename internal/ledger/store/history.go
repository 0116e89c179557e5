package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
)

// historyStore is ledger.History.
type historyStore struct{ *base }

// Finding implements ledger.Traces.
func (s *historyStore) Finding(ctx context.Context, rule, scope, key string) (ledger.Finding, error) {
	var row codec.Finding
	var seen []byte
	var due int64
	hash := finding.HashOf(key)
	found, err := s.db.One(ctx, "finding", []any{rule, scope, []byte(key), hash[:]}, append(row.Columns(), &seen, &due)...)
	if err != nil {
		return ledger.Finding{}, err
	}
	if !found {
		return ledger.Finding{}, fmt.Errorf("%w: an open finding %s", ledger.ErrNotFound, key)
	}
	return ledger.Finding{State: row.State(), Row: seen, RowDue: codec.Time(due)}, nil
}

// Trace implements ledger.Traces.
func (s *historyStore) Trace(ctx context.Context, rule, scope string, keys, ids []string, limit int) ([]ledger.NoticeTrace, error) {
	var b body
	args := []any{codec.FindingHashes(rule, scope, keys), ids, limit}
	notices, err := list(ctx, s.db, "trace", args, []any{&b}, func() (*notice.Notice, error) { return notice.Unmarshal(b) })
	if err != nil {
		return nil, err
	}
	t := codec.NewTrace(notices, rule, scope, keys, ids)
	var d codec.DeliveryTrace
	if err := s.db.Each(ctx, "trace-deliveries", []any{t.IDs()}, d.Columns(), func() error { t.Add(&d); return nil }); err != nil {
		return nil, err
	}
	return t.Notices, nil
}

// SearchNotices implements ledger.Search.
func (s *historyStore) SearchNotices(ctx context.Context, f ledger.NoticeFilter) (ledger.NoticePage, error) {
	search := codec.NewSearch(f)
	return search.Run(func(a *codec.LookArgs) ([]codec.Candidate, bool, error) { return s.db.LookAtNotices(ctx, search, a) })
}

// LastPlan implements ledger.Plans.
func (s *historyStore) LastPlan(ctx context.Context, rule, scope string) (ledger.ProbePlan, error) {
	var row codec.ProbePlan
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
func (s *historyStore) RecordPlan(ctx context.Context, p ledger.ProbePlan) error {
	_, err := s.db.Exec(ctx, "record-plan", codec.PlanArgs(p)...)
	return err
}

// LastRuns implements ledger.RunSummary.
func (s *historyStore) LastRuns(ctx context.Context) ([]ledger.Run, error) {
	var row codec.Run
	return list(ctx, s.db, "last-runs", nil, row.Columns(), row.Last)
}

// Progress implements ledger.RunSummary.
func (s *historyStore) Progress(ctx context.Context) ([]ledger.Progress, error) {
	var p ledger.Progress
	var done, running, unwell int64
	targets := []any{&p.Rule, &p.Scope, &p.Term, &done, &running, &p.RunningTerm, &unwell}
	return list(ctx, s.db, "progress", []any{s.LeaseArg()}, targets, func() (ledger.Progress, error) {
		p.Done, p.Running, p.Unwell = codec.Time(done), codec.Time(running), codec.Time(unwell)
		return p, nil
	})
}

// Runs implements ledger.Runs.
func (s *historyStore) Runs(ctx context.Context, rule string, scope *string, limit int) ([]ledger.Run, error) {
	return s.RunsDue(ctx, rule, scope, time.Time{}, time.Time{}, limit)
}

// RunsDue implements ledger.RunReader.
func (s *historyStore) RunsDue(ctx context.Context, rule string, scope *string, from, to time.Time, limit int) ([]ledger.Run, error) {
	var first, end int64 = 0, math.MaxInt64
	if !from.IsZero() {
		first = codec.Micros(from)
	}
	if !to.IsZero() {
		end = codec.Micros(to)
	}
	runs, err := s.runs(ctx, "runs", rule, scope, limit, first, end)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r ledger.Run) bool { return codec.Micros(r.Due) < first || codec.Micros(r.Due) >= end })
	slices.SortStableFunc(runs, func(a, b ledger.Run) int {
		return cmp.Or(cmp.Compare(b.Term, a.Term), b.Due.Compare(a.Due), cmp.Compare(a.Scope, b.Scope))
	})
	return runs[:min(len(runs), max(limit, 0))], nil
}

// runs returns all runs of the records that a statement returns. One record may hold several runs.
func (s *historyStore) runs(ctx context.Context, name string, args ...any) ([]ledger.Run, error) {
	var row codec.Run
	records, err := list(ctx, s.db, name, args, row.Columns(), row.All)
	return slices.Concat(records...), err
}

// RunAt implements ledger.Search.
func (s *historyStore) RunAt(ctx context.Context, rule, scope string, at time.Time) (ledger.Run, error) {
	runs, err := s.runs(ctx, "run-at", rule, scope, codec.Micros(at))
	if err != nil {
		return ledger.Run{}, err
	}
	runs = slices.DeleteFunc(runs, func(r ledger.Run) bool { return r.Started.After(at) })
	if len(runs) == 0 {
		return ledger.Run{}, fmt.Errorf("%w: a run of rule %q in scope %q", ledger.ErrNotFound, rule, scope)
	}
	return slices.MaxFunc(runs, func(a, b ledger.Run) int { return a.Started.Compare(b.Started) }), nil
}

// RunSums implements ledger.RunSummary.
func (s *historyStore) RunSums(ctx context.Context) ([]ledger.RunSum, error) {
	var j ledger.RunSum
	var first int64
	var last string
	targets := []any{&j.Rule, &j.Scope, &j.Runs, &j.Rows, &j.Errored, &j.Notices, &first, &last}
	return list(ctx, s.db, "run-sums", []any{ledger.LastBriefs}, targets, func() (_ ledger.RunSum, err error) {
		j.First = time.Time{}
		if first > 0 {
			j.First = codec.Time(first)
		}
		j.Last, err = codec.Briefs(last)
		return j, err
	})
}

// Totals implements ledger.Runs.
func (s *historyStore) Totals(ctx context.Context) ([]ledger.Total, error) {
	var t ledger.Total
	var latest int64
	return list(ctx, s.db, "totals", nil, []any{&t.Type, &t.Rule, &t.Status, &t.Count, &latest}, func() (ledger.Total, error) {
		t.Latest = codec.Time(latest)
		return t, nil
	})
}

// CountNotices implements ledger.Overviews.
func (s *historyStore) CountNotices(ctx context.Context, from, to time.Time, part time.Duration) ([]ledger.NoticeCount, error) {
	var c ledger.NoticeCount
	var start int64
	args := []any{codec.Micros(from), codec.Micros(to), part.Microseconds(), catalog.ItemEvent}
	return list(ctx, s.db, "count-notices", args, []any{&start, &c.Warehouse, &c.Type, &c.Count, &c.Urgent}, func() (ledger.NoticeCount, error) {
		c.Start = codec.Time(start)
		return c, nil
	})
}

// CountFindings implements ledger.Overviews.
func (s *historyStore) CountFindings(ctx context.Context) ([]ledger.FindingCount, error) {
	var c ledger.FindingCount
	return list(ctx, s.db, "count-findings", nil, []any{&c.Warehouse, &c.Firing, &c.Pending}, func() (ledger.FindingCount, error) { return c, nil })
}

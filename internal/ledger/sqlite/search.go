package sqlite

import (
	"context"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// SearchNotices implements ledger.Search.
func (l *Ledger) SearchNotices(ctx context.Context, f ledger.NoticeFilter) (ledger.FoundNotices, error) {
	s := rows.NewSearch(f)
	return s.Run(func(a *rows.LookArgs) ([]rows.Candidate, bool, error) { return l.look(ctx, s, a) })
}

// look looks at notices. full tells whether there were as many as were asked for.
func (l *Ledger) look(ctx context.Context, s *rows.Search, a *rows.LookArgs) (looked []rows.Candidate, full bool, err error) {
	lead, args := leadOf(s, a)
	var nums []int64
	var num int64
	err = each(ctx, l.read, lead, args, []any{&num}, func() error {
		nums = append(nums, num)
		return nil
	})
	if err != nil {
		return nil, false, failed("search notices", err)
	}
	var n rows.Candidate
	args = []any{nums, a.Warehouses, a.Types, a.Statuses, a.Rule, a.Key, a.Priority}
	err = each(ctx, l.read, "looked-at", args, []any{&n.At, &n.N, &n.ID, &n.Body}, func() error {
		looked = append(looked, n)
		return nil
	})
	if err != nil {
		return nil, false, failed("search notices", err)
	}
	return looked, len(nums) == a.Limit, nil
}

// leadOf is the statement that leads, with its arguments.
func leadOf(s *rows.Search, a *rows.LookArgs) (string, []any) {
	args := []any{a.From, a.To, a.At, a.N, a.Limit}
	if s.Finding != nil {
		return "search-finding", append(args, *s.Finding)
	}
	return "search", append(args, a.Warehouses, a.Types, a.Rule, a.Priority)
}

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// SearchNotices implements ledger.Search.
func (l *Ledger) SearchNotices(ctx context.Context, f ledger.NoticeFilter) (ledger.FoundNotices, error) {
	s := rows.NewSearch(f)
	return s.Run(func(a *rows.LookArgs) ([]rows.Candidate, bool, error) { return l.look(ctx, s, a) })
}

// look looks at notices. full tells whether there were as many as were asked for.
func (l *Ledger) look(ctx context.Context, s *rows.Search, a *rows.LookArgs) (list []rows.Candidate, full bool, err error) {
	begin := func(b *pgx.Batch) {
		if s.Finding == nil { // the notices of one are few, and in no order
			b.Queue(queries.Get("in-order"))
		}
		lead, args := leadOf(s, a)
		b.Queue(lead, args...).Query(func(found pgx.Rows) error {
			var err error
			list, err = pgx.CollectRows(found, func(r pgx.CollectableRow) (n rows.Candidate, err error) {
				err = r.Scan(&n.At, &n.N, &n.ID)
				return n, err
			})
			return err
		})
	}
	if err = l.askTogether(ctx, "search notices", begin); err != nil {
		return nil, false, err
	}
	return list, len(list) == a.Limit, l.bodies(ctx, list, a)
}

// leadOf is the statement that leads, with its arguments.
func leadOf(s *rows.Search, a *rows.LookArgs) (string, []any) {
	args := []any{a.From, a.To, a.At, a.N, a.ID, a.Limit}
	if s.Finding != nil {
		return queries.Get("search-finding"), append(args, *s.Finding)
	}
	return queries.Get("search"), append(args, a.Warehouses, a.Types, a.Rule, a.Priority)
}

// bodies adds the bodies of those that may match.
func (l *Ledger) bodies(ctx context.Context, list []rows.Candidate, a *rows.LookArgs) error {
	ids, places := make([]string, len(list)), make(map[string]int, len(list))
	for i := range list {
		ids[i], places[list[i].ID] = list[i].ID, i
	}
	found, err := l.pool.Query(ctx, queries.Get("looked-at"), ids, a.Warehouses, a.Types, a.Statuses, a.Rule, []byte(a.Key), a.Priority)
	if err != nil {
		return failed("search notices", err)
	}
	var id string
	var body []byte
	_, err = pgx.ForEachRow(found, []any{&id, &body}, func() error {
		list[places[id]].Body = body
		body = nil
		return nil
	})
	if err != nil {
		return failed("search notices", err)
	}
	return nil
}

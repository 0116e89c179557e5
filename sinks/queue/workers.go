package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tallyman/internal/item"
)

// Workers returns the workers of the scope's warehouses that hold leases, held leases lately, or have items assigned to
// them. The latest lease comes first, then names in order. The errors are recovery.ErrUnavailable, the ledger's and the
// context's.
func (q *Queue) Workers(ctx context.Context, test bool, scope item.Scope) ([]item.Worker, error) {
	known := map[string]*item.Worker{}
	worker := func(name string) *item.Worker {
		if known[name] == nil {
			known[name] = &item.Worker{Name: name}
		}
		return known[name]
	}
	if q.o.Ledger != nil {
		last, err := q.o.Ledger.LastLeases(ctx, q.line(test).name, scope)
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		for name, at := range last {
			worker(name).Last = at
		}
	}
	for _, state := range []item.State{item.Leased, item.Assigned} {
		page, err := q.List(ctx, item.Query{Test: test, Scope: scope, State: state, Limit: item.MaxBatch})
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if one := &page.Items[i]; state == item.Leased && one.Worker != "" {
				worker(one.Worker).Leased++
			}
			if one := &page.Items[i]; one.Assignee != "" {
				worker(one.Assignee).Assigned++
			}
		}
	}
	list := make([]item.Worker, 0, len(known))
	for _, w := range known {
		list = append(list, *w)
	}
	slices.SortFunc(list, func(a, b item.Worker) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name)) })
	return list, nil
}

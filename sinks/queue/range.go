package queue

import (
	"context"

	"tallyman/internal/item"
)

// maxRange is how many ids are read at once.
const maxRange = 10_000

// RemoveRange takes out the items at the places from … to of a state's list of the scope's warehouses, counted from 1, both included, as they stand at
// the moment of the call. Those that are leased, or gone, meanwhile stay as they are. It returns how many it has removed,
// with an error too. The errors are those of Step.
func (q *Queue) RemoveRange(ctx context.Context, b item.Bulk, state item.State, from, to int64) (int, error) {
	letter := listLetter(state)
	switch {
	case letter == "" || state == item.Leased:
		return 0, invalid("state", -1, "must be ready, assigned, delayed, suspended, stored or dead")
	case from < 1:
		return 0, invalid("from", -1, "must be 1 or more")
	case to < from:
		return 0, invalid("to", -1, "must not be less than from")
	}
	removed := 0
	for to = min(to, maxExact); from <= to; {
		// What is removed moves the rest forward, what stays does not.
		ids, _, err := q.read(ctx, q.line(b.Test), q.reads.ranks, letter, from-1, min(to-from+1, maxRange), scopeNames(b.Scope))
		if err != nil || len(ids) == 0 {
			return removed, err
		}
		n, err := q.toAll(ctx, b, item.Remove, ids)
		removed += n
		if err != nil || len(ids) < maxRange {
			return removed, err
		}
		from += int64(len(ids) - n)
		to -= int64(n)
	}
	return removed, nil
}

// RequeueDead makes all items of the scope's warehouses ready that are dead now, the first that died first. It returns how many, with an error too. The
// errors are those of Step.
func (q *Queue) RequeueDead(ctx context.Context, b item.Bulk) (int, error) {
	sizes, err := q.Sizes(ctx, b.Test, b.Scope)
	if err != nil {
		return 0, err
	}
	requeued := 0
	for left := sizes.Dead; left > 0; {
		// They leave the list at its beginning; what dies meanwhile comes at its end.
		ids, _, err := q.read(ctx, q.line(b.Test), q.reads.ranks, item.Dead.Letter(), 0, min(left, item.MaxBatch), scopeNames(b.Scope))
		if err != nil || len(ids) == 0 {
			return requeued, err
		}
		n, err := q.toAll(ctx, b, item.Requeue, ids)
		requeued += n
		if err != nil {
			return requeued, err
		}
		left -= int64(len(ids))
	}
	return requeued, nil
}

// toAll does the same to many items, and returns to how many it was done. Each call of the script leaves a record of its part.
func (q *Queue) toAll(ctx context.Context, b item.Bulk, kind item.OpKind, ids []string) (int, error) {
	done := 0
	for len(ids) > 0 {
		part := ids[:min(len(ids), item.MaxBatch)]
		ids = ids[len(part):]
		ops := make([]item.Op, len(part))
		for i, id := range part {
			ops[i] = item.Op{Kind: kind, ID: id}
		}
		out, err := q.Step(ctx, item.Step{Test: b.Test, Caller: item.Caller{Scope: b.Scope}, By: b.By, Ops: ops, Order: b.Order})
		if err != nil {
			return done, err
		}
		for _, r := range out.Results {
			if r.Outcome == item.OK {
				done++
			}
		}
	}
	return done, nil
}

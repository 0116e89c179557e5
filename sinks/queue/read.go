package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
)

// maxPageBytes is how many bytes of items a page has at most, about: what a client or a node can be asked to hold at once.
const maxPageBytes = 4 << 20

// List returns a part of the queue: items of one state. Those that have ended come from the ledger, the others from Redis.
// The errors are item.InvalidError, index.ErrUnavailable, the ledger's and the context's.
func (q *Queue) List(ctx context.Context, query item.Query) (item.Page, error) {
	if query.Limit < 1 || query.Limit > item.MaxBatch {
		return item.Page{}, invalid("limit", -1, "must be 1 to %d", item.MaxBatch)
	}
	c, err := decodeCursor(query.After, query.State)
	if err != nil {
		return item.Page{}, err
	}
	if query.State.Ended() {
		return q.ended(ctx, query, c)
	}
	letter := listLetter(query.State)
	if letter == "" {
		return item.Page{}, invalid("state", -1, "must be ready, assigned, leased, delayed, suspended, stored, dead, done, removed or refused")
	}
	answer, _, err := q.read(ctx, q.line(query.Test), q.reads.list, letter, query.Limit, maxPageBytes, scopeNames(query.Scope),
		c.level, c.at, c.passed, c.warehouse, c.id)
	if err != nil {
		return item.Page{}, err
	}
	return parsePage(answer, query.State)
}

// listLetter names a list of items that have not ended as the scripts do; "" = there is none.
func listLetter(s item.State) string {
	switch {
	case s == item.Assigned:
		return "a"
	case !s.Valid() || s.Ended():
		return ""
	}
	return s.Letter()
}

// parsePage reads the answer of list.lua.
func parsePage(answer []string, state item.State) (item.Page, error) {
	const where = 5 // values that say where the page ends
	if len(answer) < where || len(answer)%2 == 0 {
		return item.Page{}, fmt.Errorf("%w: list.lua gave %d values", errAnswer, len(answer))
	}
	ends, err := counts(answer[:3])
	if err != nil {
		return item.Page{}, err
	}
	page := item.Page{Items: make([]item.Item, 0, len(answer)/2)}
	for i := where; i < len(answer); i += 2 {
		one, err := parseValue(answer[i], answer[i+1])
		if err != nil {
			return item.Page{}, err
		}
		page.Items = append(page.Items, one)
	}
	if answer[4] != "" {
		page.Cursor = cursor{level: int(ends[0]), at: ends[1], passed: ends[2], warehouse: answer[3], id: answer[4]}.encode(state)
	}
	return page, nil
}

// ended asks the ledger for items that have ended, what has just ended among them.
func (q *Queue) ended(ctx context.Context, query item.Query, c cursor) (item.Page, error) {
	if q.o.Ledger == nil {
		return item.Page{}, invalid("state", -1, "%s: items that have ended are in the ledger, and there is none", query.State)
	}
	if err := q.settle(ctx, q.line(query.Test)); err != nil {
		return item.Page{}, err
	}
	records, next, err := q.o.Ledger.EndedItems(ctx, q.line(query.Test).name, query.State, query.Scope, c.at, query.Limit)
	if err != nil {
		return item.Page{}, fmt.Errorf("ledger: %w", err)
	}
	page := item.Page{Items: make([]item.Item, len(records))}
	for i := range records {
		page.Items[i] = fromRecord(&records[i])
	}
	if next > 0 {
		page.Cursor = cursor{at: next}.encode(query.State)
	}
	return page, nil
}

// fromRecord is an item as the ledger has it.
func fromRecord(r *item.Record) item.Item {
	i := item.Item{
		ID: r.ID, Warehouse: r.Warehouse, State: r.State, Priority: r.Priority, Payload: r.Payload, Attempt: r.Attempt, Failures: r.Failures,
		Suspends: r.Suspends, Created: r.Created, Ready: r.Ready, Due: r.Due, Assignee: r.Assignee, Moves: r.Moves, Seq: r.Seq,
		Bucket: r.Bucket,
	}
	if i.State.Ended() { // the ledger has when it was ready first, and its trace when it was last
		i.Ready = time.Time{}
	}
	return i
}

// Rank tells when a ready item is served: its place among what anybody may take of the scope's warehouses, or of one that a worker alone gets, its place
// in what that worker is given. The errors are sinks.ErrNotFound for what is not ready, item.InvalidError,
// index.ErrUnavailable and the context's.
func (q *Queue) Rank(ctx context.Context, test bool, scope item.Scope, id string) (item.Rank, error) {
	answer, _, err := q.read(ctx, q.line(test), q.reads.rank, id, scopeNames(scope))
	if err != nil {
		return item.Rank{}, err
	}
	notReady := fmt.Errorf("queue: item %s is not ready: %w", id, delivery.ErrNotFound)
	if len(answer) != 2 {
		return item.Rank{}, notReady
	}
	one, err := parseHead(id, answer[1])
	place, badPlace := strconv.ParseInt(answer[0], 10, 64)
	if err := errors.Join(err, badPlace); err != nil {
		return item.Rank{}, err
	}
	if !scope.Has(one.Warehouse) {
		return item.Rank{}, notReady
	}
	return item.Rank{ID: id, Place: place, Score: one.Score()}, nil
}

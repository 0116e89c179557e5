package queue

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
)

// maxPageBytes is about how many bytes of items a page has at most: a node or client must hold them at once.
const maxPageBytes = 4 << 20

// List returns one page of the items in a state. Ended items come from the ledger, all others from Redis. The errors
// are item.InvalidError, recovery.ErrUnavailable, the ledger's and the context's.
func (q *Queue) List(ctx context.Context, query item.Query) (item.Page, error) {
	if query.Limit < 1 || query.Limit > item.MaxBatch {
		return item.Page{}, invalid("limit", -1, "must be 1 to %d", item.MaxBatch)
	}
	c, err := decodeCursor(query.After, query.State, query.Order)
	if err != nil {
		return item.Page{}, err
	}
	if query.Order == item.ByWait && (query.State != item.Ready || query.Key != "") {
		return item.Page{}, invalid("order", -1, "waiting is an order of ready items alone: list state ready, or leave out order")
	}
	if query.Key != "" || query.State.Ended() || query.State == item.WithheldState {
		return q.recorded(ctx, query, c)
	}
	letter := listLetter(query.State)
	if letter != "" && query.Order == item.ByWait {
		letter = byWaitLetter
	}
	if letter == "" {
		return item.Page{}, invalid("state", -1, "must be ready, assigned, leased, delayed, suspended, stored, dead, withheld, done, removed or refused")
	}
	answer, _, err := q.read(ctx, q.line(query.Test), q.reads.list, letter, query.Limit, maxPageBytes, scopeNames(query.Scope),
		c.level, c.at, c.source, c.member)
	if err != nil {
		return item.Page{}, err
	}
	return parsePage(answer, &query)
}

// byWaitLetter names the list of ready items sorted by how long they have waited.
const byWaitLetter = "w"

// listLetter returns the letter that names a list of unfinished items in the scripts, or "" if there is no such list.
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
func parsePage(answer []string, query *item.Query) (item.Page, error) {
	const where = 4 // the first values say where the page ends
	if len(answer) < where || len(answer)%2 != 0 {
		return item.Page{}, fmt.Errorf("%w: list.lua gave %d values", errAnswer, len(answer))
	}
	ends, err := counts(answer[:2])
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
	if answer[3] != "" {
		page.Cursor = cursor{level: int(ends[0]), at: ends[1], source: answer[2], member: answer[3]}.encode(query.State, query.Order)
	}
	return page, nil
}

// recorded reads items from the ledger: ended or withheld ones, or those with a dedupe key. recorded first waits for
// the latest moves.
func (q *Queue) recorded(ctx context.Context, query item.Query, c cursor) (item.Page, error) {
	if q.o.Ledger == nil {
		return item.Page{}, invalid("state", -1, "%s: items that have ended or are withheld, and dedupe keys, are in the ledger, and this queue has no ledger", query.State)
	}
	err := q.settle(ctx, q.line(query.Test))
	if err != nil {
		return item.Page{}, err
	}
	name := q.line(query.Test).name
	var records []item.Record
	var next int64
	switch {
	case query.Key != "":
		records, next, err = q.o.Ledger.KeyItems(ctx, name, query.Key, query.Scope, c.at, query.Limit)
	case query.State == item.WithheldState:
		records, next, err = q.o.Ledger.WithheldItems(ctx, name, query.Scope, c.at, query.Limit)
	default:
		records, next, err = q.o.Ledger.EndedItems(ctx, name, query.State, query.Scope, c.at, query.Limit)
	}
	if err != nil {
		return item.Page{}, fmt.Errorf("ledger: %w", err)
	}
	page := item.Page{Items: make([]item.Item, len(records))}
	for i := range records {
		page.Items[i] = fromRecord(&records[i])
	}
	if query.Key != "" {
		if err := q.refresh(ctx, q.line(query.Test), page.Items); err != nil {
			return item.Page{}, err
		}
	}
	if next > 0 {
		page.Cursor = cursor{at: next}.encode(query.State, query.Order)
	}
	return page, nil
}

// refresh replaces unfinished items by their values in Redis, because the ledger does not know their leases.
func (q *Queue) refresh(ctx context.Context, l *queueLine, items []item.Item) error {
	var ids []string
	var places []int
	for i := range items {
		if !items[i].State.Ended() {
			ids, places = append(ids, items[i].ID), append(places, i)
		}
	}
	values, _, err := q.values(ctx, l, ids)
	if err != nil {
		return err
	}
	for i, place := range places {
		if values[i].ID != "" {
			items[place] = values[i]
		}
	}
	return nil
}

// fromRecord returns an item as the ledger has it.
func fromRecord(r *item.Record) item.Item {
	i := item.Item{
		ID: r.ID, Warehouse: r.Warehouse, State: r.State, Priority: r.Priority, Payload: r.Payload, Attempt: r.Attempt, Failures: r.Failures,
		Suspends: r.Suspends, Created: r.Created, Ready: r.Ready, Due: r.Due, Assignee: r.Assignee, Moves: r.Moves, Seq: r.Seq,
		Bucket: r.Bucket, Order: r.Order,
	}
	if i.State.Ended() { // The column of the ledger says when the item became ready first. When it became ready last is in the trace.
		i.Ready = time.Time{}
	}
	return i
}

// Rank tells when a ready item will be served. For an item that anybody may lease, it is the place among all such items
// of the scope's warehouses. For an assigned item, it is the place among the items that its worker will get.
//
// The errors are delivery.ErrNotFound if the item is not ready, item.InvalidError, recovery.ErrUnavailable and the
// context's.
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

// cursor is where a page ended. The meaning of the fields depends on the list: see scripts/list.lua. For lists of ended
// items, at is the ledger's number of the last item.
type cursor struct {
	level  int    // priority of the last ready item
	at     int64  // the score: an order, a place or a due time
	source string // the sorted set of the last item, as the scripts name it
	member string // the member of that set
}

// listName names the list that a cursor belongs to.
func listName(state item.State, order item.ListOrder) string {
	if order == item.ByWait {
		return string(state) + "/" + string(order)
	}
	return string(state)
}

// encode returns the cursor as a text. The text is valid only for lists of the same state and order.
func (c cursor) encode(state item.State, order item.ListOrder) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %d %d %s %s", listName(state, order), c.level, c.at, c.source, c.member))
}

// decodeCursor reads a text of encode. An empty text is the beginning of the list.
func decodeCursor(text string, state item.State, order item.ListOrder) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	fields := strings.SplitN(string(b), " ", 5)
	if err != nil || len(fields) != 5 {
		return cursor{}, invalid("after", -1, "is no cursor of a list of items")
	}
	if fields[0] != listName(state, order) {
		of, _, _ := strings.Cut(fields[0], "/")
		if of == string(state) {
			return cursor{}, invalid("after", -1, "is the cursor of a list in another order: begin the list anew, without after")
		}
		return cursor{}, invalid("after", -1, "is the cursor of a list of another state")
	}
	c := cursor{source: fields[3], member: fields[4]}
	level, errLevel := strconv.Atoi(fields[1])
	at, errAt := strconv.ParseInt(fields[2], 10, 64)
	if errors.Join(errLevel, errAt) != nil || level < 0 || level > item.HighestPriority || at < -maxExact || at > maxExact {
		return cursor{}, invalid("after", -1, "is no cursor of a list of items")
	}
	c.level, c.at = level, at
	return c, nil
}

// maxExact is the largest integer that Lua's numbers hold exactly.
const maxExact = 1 << 53

const (
	traceWait  = time.Second           // how long Get waits until the ledger has the latest moves
	traceEvery = 20 * time.Millisecond // how often Get asks the ledger
)

// Get returns an item of the scope's warehouses with its trace, in any state. The trace has all moves before the call,
// unless the ledger takes longer than a second. The errors are delivery.ErrNotFound, recovery.ErrUnavailable, the
// ledger's and the context's.
func (q *Queue) Get(ctx context.Context, test bool, scope item.Scope, id string) (item.TracedItem, error) {
	l := q.line(test)
	answer, epoch, err := q.read(ctx, l, q.reads.get, id)
	if err != nil {
		return item.TracedItem{}, err
	}
	if len(answer) != 3 {
		return item.TracedItem{}, fmt.Errorf("%w: get.lua gave %d values", errAnswer, len(answer))
	}
	var out item.TracedItem
	found := answer[2] != ""
	if found {
		if out.Item, err = parseValue(id, answer[2]); err != nil {
			return item.TracedItem{}, err
		}
		if !scope.Has(out.Item.Warehouse) {
			return item.TracedItem{}, notFound(id)
		}
	}
	if q.o.Ledger == nil {
		if !found {
			err = notFound(id)
		}
		return out, err
	}
	where, err := counts(answer[:2])
	if err != nil {
		return item.TracedItem{}, err
	}
	if err := q.awaitMoves(ctx, l, epoch, where[0], where[1]); err != nil {
		return item.TracedItem{}, err
	}
	record, trace, err := q.o.Ledger.ItemTrace(ctx, l.name, id)
	if errors.Is(err, delivery.ErrNotFound) || err == nil && !scope.Has(record.Warehouse) {
		return item.TracedItem{}, notFound(id)
	}
	if err != nil {
		return item.TracedItem{}, fmt.Errorf("ledger: %w", err)
	}
	if !found {
		return item.TracedItem{Item: fromRecord(&record), Trace: trace}, nil
	}
	out.Trace = until(trace, out.Item.Moves)
	return out, nil
}

func notFound(id string) error { return fmt.Errorf("queue: item %s: %w", id, delivery.ErrNotFound) }

// until removes the moves after the item was read, so that the trace ends with the state that is shown.
func until(trace []item.Move, moves int64) []item.Move {
	for len(trace) > 1 && trace[len(trace)-1].N > moves {
		trace = trace[:len(trace)-1]
	}
	return trace
}

// settle waits up to traceWait until the ledger has all moves up to now. Without Redis there is nothing to wait for,
// and the caller answers with what the ledger has.
func (q *Queue) settle(ctx context.Context, l *queueLine) error {
	if g, _ := q.keeper.Current(); g == nil {
		return nil
	}
	answer, epoch, err := q.read(ctx, l, q.reads.get, "")
	if err != nil {
		return ctx.Err()
	}
	where, err := counts(answer[:2])
	if err != nil {
		return err
	}
	return q.awaitMoves(ctx, l, epoch, where[0], where[1])
}

// awaitMoves waits up to traceWait until the ledger has all moves up to the position moved.
func (q *Queue) awaitMoves(ctx context.Context, l *queueLine, epoch string, moved, drained int64) error {
	tick := time.NewTicker(traceEvery)
	defer tick.Stop()
	over := time.NewTimer(traceWait)
	defer over.Stop()
	for drained < moved {
		applied, err := q.o.Ledger.AppliedMoves(ctx, l.name, epoch)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if applied >= moved {
			return nil
		}
		select {
		case <-tick.C:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// The layout of the answer of sizes.lua.
const (
	sizesAtOnce = 200 // warehouses that one call counts
	sizesHead   = 5   // values before the rows
	sizesCounts = 11  // counts in a row, behind the name and before the levels
	sizesRow    = 1 + sizesCounts + 2*item.Levels
)

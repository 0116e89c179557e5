package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"tallyman/internal/item"
)

// mostListed is how many operations the record of an order lists.
const mostListed = 100

// writtenOrder is an item.Order on its way through the outbox, with the operations of its call.
type writtenOrder struct {
	By     string          `json:"by"`
	Via    string          `json:"via"`
	Action string          `json:"action"`
	Object string          `json:"object"`
	Reason string          `json:"reason,omitempty"`
	Asked  json.RawMessage `json:"asked,omitempty"`
	Count  string          `json:"count,omitempty"`
	Kinds  string          `json:"kinds"`         // one letter for each operation of the call
	Ops    []orderedOp     `json:"ops,omitempty"` // the first mostListed operations that are orders
}

// orderedOp is an operation in the record of an order.
type orderedOp struct {
	Place  int     `json:"place,omitempty"` // the index in the call; 0 in the record
	Op     string  `json:"op"`
	ID     string  `json:"id"`
	Worker *string `json:"worker,omitempty"`
	// The new values. An empty order means: served by the time when the item became ready.
	Priority     int     `json:"priority,omitempty"`
	ServiceOrder *string `json:"order,omitempty"`
	Note         string  `json:"note,omitempty"`
}

// isOrder tells whether the operation with this letter is an order: item.OpKind.IsOrder.
func isOrder(letter byte) bool {
	for kind, l := range letters {
		if l == letter {
			return kind.IsOrder()
		}
	}
	return false
}

// orderText returns the order of a step as step.lua takes it. "-" means that the step is not an order.
func orderText(s *item.Step) string {
	if s.Order == nil {
		return "-"
	}
	o := writtenOrder{
		By: s.Order.By, Via: s.Order.Via, Action: s.Order.Action, Object: s.Order.Object, Reason: cutNote(s.Order.Reason),
		Asked: s.Order.Asked, Count: s.Order.Count,
	}
	kinds := make([]byte, len(s.Ops))
	for i := range s.Ops {
		op := &s.Ops[i]
		kinds[i] = letters[op.Kind]
		if !op.Kind.IsOrder() || len(o.Ops) == mostListed || o.Count != "" {
			continue
		}
		one := orderedOp{Place: i, Op: string(op.Kind), ID: op.ID, Note: cutNote(op.Note)}
		if op.Kind == item.Assign {
			one.Worker = &op.Worker
		}
		if op.Set != nil {
			one.Priority = op.Set.Priority
			if op.Set.Order != nil {
				order := op.Set.Order.String()
				one.ServiceOrder = &order
			}
		}
		o.Ops = append(o.Ops, one)
	}
	o.Kinds = string(kinds)
	text, err := json.Marshal(o)
	if err != nil { // Asked is not valid JSON
		o.Asked = nil
		text, _ = json.Marshal(o) //nolint:errchkjson // texts and numbers
	}
	return escape(string(text))
}

// orderMark begins the line of an order in an entry of the outbox. The order follows, and the outcomes of its
// operations as step.lua writes them.
const orderMark = "! "

// parseChange reads the line of an order.
func parseChange(line string, at time.Time) (item.Change, error) {
	text, outcomes, _ := strings.Cut(strings.TrimPrefix(line, orderMark), " ")
	unescaped, err := url.QueryUnescape(text)
	var o writtenOrder
	if err == nil {
		err = json.Unmarshal([]byte(unescaped), &o)
	}
	if err != nil || len(o.Kinds) != len(outcomes) || o.By == "" || o.Via == "" {
		return item.Change{}, fmt.Errorf("%w: an order is %.200q", errEntry, line)
	}
	c := item.Change{At: at, Order: item.Order{
		By: o.By, Via: o.Via, Action: o.Action, Object: o.Object, Reason: o.Reason, Asked: o.Asked, Count: o.Count,
	}}
	done := 0
	for i := range len(outcomes) {
		if isOrder(o.Kinds[i]) && wrong[outcomes[i]] == "" {
			done++
		}
	}
	if o.Count != "" {
		c.Done, err = json.Marshal(map[string]int{o.Count: done})
		return c, err
	}
	listed := make([]orderedOp, 0, len(o.Ops))
	for _, op := range o.Ops {
		if op.Place < 0 || op.Place >= len(outcomes) {
			return item.Change{}, fmt.Errorf("%w: an order is %.200q", errEntry, line)
		}
		if wrong[outcomes[op.Place]] == "" {
			op.Place = 0
			listed = append(listed, op)
		}
	}
	if done == len(listed) {
		c.Done, err = json.Marshal(listed)
		return c, err
	}
	c.Done, err = json.Marshal(map[string]any{"first": listed, "more": done - len(listed)})
	return c, err
}

// Pause stops the queue, or its twin, from leasing items. Present leases go on, and pushes are accepted. The pause and
// its record are written to the ledger first, so that the pause outlives Redis. The order says who asks; the ledger
// completes the record. The errors are recovery.ErrUnavailable, the ledger's and the context's.
func (q *Queue) Pause(ctx context.Context, test bool, by string, o *item.Order) error {
	return q.setPause(ctx, q.line(test), true, by, o)
}

// Resume lets the queue, or its twin, lease items again. The errors are those of Pause.
func (q *Queue) Resume(ctx context.Context, test bool, by string, o *item.Order) error {
	return q.setPause(ctx, q.line(test), false, by, o)
}

func (q *Queue) setPause(ctx context.Context, l *queueLine, paused bool, by string, o *item.Order) error {
	p := item.Pause{Paused: paused, By: by, At: l.time().UTC().Truncate(time.Microsecond)}
	if q.o.Ledger == nil {
		return q.tellPause(ctx, l, p)
	}
	if err := q.o.Ledger.SetQueuePause(ctx, o, l.name, p); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	// Of two concurrent changes the ledger keeps the later one. Redis must end with the same change, so repeat until it
	// does.
	for {
		if err := q.tellPause(ctx, l, p); err != nil {
			return err
		}
		last, err := q.o.Ledger.QueuePause(ctx, l.name)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if last.Paused == p.Paused && last.At.Equal(p.At) {
			return nil
		}
		p = last
	}
}

func (q *Queue) tellPause(ctx context.Context, l *queueLine, p item.Pause) error {
	_, _, err := q.read(ctx, l, q.reads.pause, append([]any{l.keys.hints(), l.hint()}, pauseArgs(p)...)...)
	return err
}

// pauseArgs returns a pause as the scripts take it.
func pauseArgs(p item.Pause) []any {
	paused := 0
	if p.Paused {
		paused = 1
	}
	return []any{paused, p.By, toMicro(p.At)}
}

// maxRange is how many ids one call reads.
const maxRange = 10_000

// RemoveRange removes the items at the places from … to in the list of a state, for the scope's warehouses. Places
// count from 1 and both ends are included. They are the places at the moment of the call. Items that are leased or gone
// in the meantime stay as they are.
//
// RemoveRange returns how many items it has removed, also with an error. The errors are those of Step.
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
		// Removed items move the rest of the list forward. Items that stay do not.
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

// RequeueDead makes all dead items of the scope's warehouses ready, in the order in which they died. Withheld items
// stay dead, because an operator must decide about each of them. It returns how many items are ready now, also with an
// error. The errors are those of Step.
func (q *Queue) RequeueDead(ctx context.Context, b item.Bulk) (int, error) {
	sizes, err := q.Sizes(ctx, b.Test, b.Scope)
	if err != nil {
		return 0, err
	}
	withheld, err := q.withheld(ctx, q.line(b.Test).name, b.Scope)
	if err != nil {
		return 0, err
	}
	requeued, kept := 0, int64(0)
	for left := sizes.Dead; left > 0; {
		// The list begins with the kept items, because requeued items leave it. So the next page begins after the kept
		// items. Items that die in the meantime are added at the end of the list.
		ids, _, err := q.read(ctx, q.line(b.Test), q.reads.ranks, item.Dead.Letter(), kept, min(left, item.MaxBatch), scopeNames(b.Scope))
		if err != nil || len(ids) == 0 {
			return requeued, err
		}
		left -= int64(len(ids))
		found := len(ids)
		ids = slices.DeleteFunc(ids, func(id string) bool { return withheld[id] })
		kept += int64(found - len(ids))
		n, err := q.toAll(ctx, b, item.Requeue, ids)
		requeued += n
		if err != nil {
			return requeued, err
		}
	}
	return requeued, nil
}

// withheld returns the ids of the queue's withheld items.
func (q *Queue) withheld(ctx context.Context, queue string, scope item.Scope) (map[string]bool, error) {
	ids := map[string]bool{}
	for before := int64(0); q.o.Ledger != nil; {
		list, next, err := q.o.Ledger.WithheldItems(ctx, queue, scope, before, item.MaxBatch)
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		for i := range list {
			ids[list[i].ID] = true
		}
		if before = next; next == 0 {
			break
		}
	}
	return ids, nil
}

// toAll applies one kind of operation to many items, and returns for how many it succeeded. Each call of the script
// records its own part.
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

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
	Kinds  string          `json:"kinds"`         // a letter for each operation of the call
	Ops    []orderedOp     `json:"ops,omitempty"` // the first of those that are recorded
}

// orderedOp is an operation in the record of an order.
type orderedOp struct {
	Place  int     `json:"place,omitempty"` // among the operations of the call, from 0; not in the record
	Op     string  `json:"op"`
	ID     string  `json:"id"`
	Worker *string `json:"worker,omitempty"`
	// What is set: "" of the order is the time of becoming ready.
	Priority     int     `json:"priority,omitempty"`
	ServiceOrder *string `json:"order,omitempty"`
	Note         string  `json:"note,omitempty"`
}

// isOrder is IsOrder of an operation by its letter.
func isOrder(letter byte) bool {
	for kind, l := range letters {
		if l == letter {
			return kind.IsOrder()
		}
	}
	return false
}

// orderText is the order of a step as step.lua takes it; - is none.
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
	if err != nil { // what was asked is no JSON
		o.Asked = nil
		text, _ = json.Marshal(o) //nolint:errchkjson // texts and numbers
	}
	return escape(string(text))
}

// orderMark begins the line of an order in an entry of the outbox: the mark, the order, and the outcomes of the operations as step.lua has
// them.
const orderMark = "! "

// parseChange reads such a line.
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

// Pause has the queue, or its twin, give out nothing more; what is leased goes on, and items are taken in. It is in the ledger
// first, with its record, so that it outlives Redis. The order says who asks; the rest of the record is the ledger's. The errors are recovery.ErrUnavailable, the ledger's and the context's.
func (q *Queue) Pause(ctx context.Context, test bool, by string, o *item.Order) error {
	return q.setPause(ctx, q.line(test), true, by, o)
}

// Resume has the queue, or its twin, give out items again. The errors are those of Pause.
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
	// Of two that do this at once the ledger has the later one's. Whoever tells Redis last must tell that.
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

// pauseArgs is a pause as the scripts take it.
func pauseArgs(p item.Pause) []any {
	paused := 0
	if p.Paused {
		paused = 1
	}
	return []any{paused, p.By, toMicro(p.At)}
}

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

// RequeueDead makes all items of the scope's warehouses ready that are dead now, the first that died first. Withheld items stay dead: somebody has to
// decide about each of them. It returns how many are ready, with an error too. The errors are those of Step.
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
		// Items leave the list at its beginning, behind those that stay. What dies meanwhile comes at the end of the list.
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

package queue

import (
	"encoding/json"
	"fmt"
	"net/url"
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
	Note   string  `json:"note,omitempty"`
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

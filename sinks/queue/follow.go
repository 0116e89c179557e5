package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"tallyman/internal/item"
)

// OnRepeat says what happens to a waiting item when its finding is sent again.
type OnRepeat string

// The values of OnRepeat.
const (
	RepeatUpdates OnRepeat = "update" // the item takes the text, data, priority and order of the new notice
	RepeatKeeps   OnRepeat = "keep"   // the item stays as it is
)

// repeated is a notice that made no item because its finding has an item already.
type repeated struct {
	work   *noticeWork
	record *item.Record // the record that was refused
}

// follow gives the new notices to the items of findings that were sent again. A leased item takes the update when it
// waits again. A notice that is delivered twice changes nothing the second time. follow returns the epoch in which
// items may have changed. Empty means that there are no such items.
func (q *Queue) follow(ctx context.Context, list []noticeWork, records []item.Record, results []item.PushResult) (epoch string, err error) {
	last := map[string]repeated{} // by subject
	for i := range list {
		subject, outcome := list[i].item.Subject, results[i].Outcome
		if subject != "" && (outcome == item.Duplicate || outcome == item.Exists) {
			last[subject] = repeated{&list[i], &records[i]}
		}
	}
	if len(last) == 0 || q.o.Ledger == nil || q.o.OnRepeat == RepeatKeeps {
		return "", nil
	}
	l := q.line(false)
	var subjects, ids []string
	for subject := range last {
		subjects = append(subjects, subject)
	}
	made, err := q.o.Ledger.SubjectItems(ctx, l.name, subjects)
	if err != nil {
		return "", err
	}
	of := map[string]repeated{} // by id
	for i, items := range made {
		if len(items) > 0 {
			id := items[len(items)-1]
			ids, of[id] = append(ids, id), last[subjects[i]]
		}
	}
	// in the order in which the notices were sent
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(of[a].record.Seq, of[b].record.Seq) })
	values, epoch, err := q.values(ctx, l, ids)
	if err != nil {
		return "", err
	}
	var ops []item.Op
	for i := range values {
		if op, ok := of[ids[i]].update(&values[i]); ok {
			ops = append(ops, op)
		}
	}
	return epoch, q.update(ctx, maker(list), ops)
}

// update returns the operation that gives an item the new notice. It returns false if the item has ended, or has this
// notice or a later one.
//
// The priority and the order change only if the new notice differs in them from the item's notice. So a value that an
// operator has set stays as long as the finding asks for nothing new.
func (r repeated) update(i *item.Item) (item.Op, bool) {
	var has struct {
		ID        string            `json:"id"`
		CreatedAt time.Time         `json:"createdAt"`
		Priority  int               `json:"priority"`
		Order     item.ServiceOrder `json:"order"`
	}
	n := r.work.notice
	if i.ID == "" || json.Unmarshal(i.Payload, &has) != nil || has.ID == n.ID || n.CreatedAt.Before(has.CreatedAt) {
		return item.Op{}, false
	}
	set := &item.Setting{Source: r.record.Seq, Payload: r.record.Payload}
	if r.record.Priority != has.Priority {
		set.Priority = r.record.Priority
	}
	if r.record.Order != has.Order {
		set.Order = &r.record.Order
	}
	return item.Op{Kind: item.Set, ID: i.ID, Force: true, Note: "notice " + n.ID, Set: set}, true
}

// update applies operations that have payloads, in calls that are small enough not to block Redis for long.
func (q *Queue) update(ctx context.Context, by string, ops []item.Op) error {
	for len(ops) > 0 {
		n, bytes := 0, 0
		for n < min(len(ops), item.MaxBatch) && (n == 0 || bytes+len(ops[n].Set.Payload) <= enqueueBytes) {
			bytes += len(ops[n].Set.Payload)
			n++
		}
		if _, err := q.Step(ctx, item.Step{By: by, Ops: ops[:n]}); err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

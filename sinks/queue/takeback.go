package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"tallyman/internal/item"
)

// takeBack removes the items of findings that have resolved, but those that a worker has.
//
// A resolution that is delivered again must not take back what a later life of the finding has asked for since: an item goes
// only where its episode is not above the resolution's. Episodes are due times, the same on every node.
func (q *Queue) takeBack(ctx context.Context, list []work) error {
	if q.o.Ledger == nil {
		return errors.New("queue: what a resolution takes back is known to the ledger alone")
	}
	by := maker(list)
	var subjects []string
	var resolved []int64 // the episodes
	for i := range list {
		n := list[i].notice
		if of, err := strconv.ParseInt(n.Episode, 10, 64); err == nil { // an event has none: nothing resolves it
			subjects, resolved = append(subjects, subject(n)), append(resolved, of)
		}
	}
	made, err := q.o.Ledger.SubjectItems(ctx, q.line(false).name, subjects)
	if err != nil {
		return err
	}
	last := map[string]int64{} // id of an item → the episode that has resolved
	var ids []string
	for i := range made {
		for _, id := range made[i] {
			if _, known := last[id]; !known {
				ids = append(ids, id)
			}
			last[id] = max(last[id], resolved[i])
		}
	}
	values, err := q.values(ctx, ids)
	if err != nil {
		return err
	}
	var ops []item.Op
	for i, id := range ids {
		if of, ok := episode(values[i].Payload); ok && of <= last[id] {
			ops = append(ops, item.Op{Kind: item.Remove, ID: id, Note: "resolved"})
		}
	}
	for len(ops) > 0 {
		n := min(len(ops), item.MaxBatch)
		if _, err := q.Step(ctx, item.Step{By: by, Ops: ops[:n]}); err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

// values reads items as they stand in Redis; one that is not there is zero.
func (q *Queue) values(ctx context.Context, ids []string) ([]item.Item, error) {
	list := make([]item.Item, 0, len(ids))
	for len(list) < len(ids) {
		some := ids[len(list):]
		args := []any{maxPageBytes}
		for _, id := range some[:min(len(some), item.MaxBatch)] {
			args = append(args, id)
		}
		answer, _, err := q.read(ctx, q.line(false), q.reads.values, args...)
		if err != nil {
			return nil, err
		}
		if len(answer) == 0 || len(answer) >= len(args) {
			return nil, fmt.Errorf("%w: values.lua gave %d values", errAnswer, len(answer))
		}
		for i, value := range answer {
			var one item.Item
			if value != "" {
				if one, err = parseValue(some[i], value); err != nil {
					return nil, err
				}
			}
			list = append(list, one)
		}
	}
	return list, nil
}

package queue

import (
	"context"
	"slices"

	"tallyman/internal/item"
)

func (l *memoryLedger) WithholdItems(_ context.Context, queue string, list []item.Withheld) error {
	q, leave, err := l.enter(queue)
	defer leave()
	if err != nil {
		return err
	}
	if q.withheld == nil {
		q.withheld = map[int64]int64{}
	}
	for _, w := range list {
		it := q.items[w.Seq]
		if it == nil || it.State.Ended() || q.isWithheld(it) {
			continue
		}
		m := item.Move{
			Seq: w.Seq, N: it.Moves + 1, At: w.At, From: it.State, To: item.Dead, Attempt: it.Attempt, Failures: it.Failures, Suspends: it.Suspends,
			Due: w.At, Assignee: it.Assignee, Node: w.Node, Note: w.Note,
		}
		it.State, it.Moves, it.Due = item.Dead, m.N, m.Due
		it.trace = append(it.trace, m)
		q.withheld[w.Seq] = m.N
	}
	return nil
}

func (q *memoryQueue) isWithheld(it *memoryItem) bool {
	moves, ok := q.withheld[it.Seq]
	return ok && it.State == item.Dead && it.Moves == moves
}

func (l *memoryLedger) WithheldItems(_ context.Context, queue string, scope item.Scope, before int64, limit int) (list []item.Record, next int64, err error) {
	q, leave, err := l.enter(queue)
	defer leave()
	for _, seq := range slices.Backward(q.pushed) {
		if it := q.items[seq]; err == nil && len(list) < limit && (before == 0 || seq < before) && q.isWithheld(it) && scope.Has(it.Warehouse) {
			list = append(list, it.Record)
		}
	}
	return list, 0, err
}

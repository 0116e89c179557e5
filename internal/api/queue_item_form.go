package api

import (
	"math"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/wire"
)

func newItemForm(i *item.Item, now time.Time) wire.ItemForm {
	form := wire.ItemForm{
		ID: i.ID, Warehouse: i.Warehouse, State: string(i.State), Priority: i.Priority, Payload: wire.Payload(i.Payload), Attempt: i.Attempt, Failures: i.Failures,
		Suspends: i.Suspends, CreatedAt: i.Created.UTC(), ReadyAt: wire.Moment(i.Ready), Due: wire.Moment(i.Due), Worker: i.Worker, Assignee: i.Assignee,
	}
	switch i.State {
	case item.Ready:
		form.Score = i.Score()
	case item.Leased, item.Delayed, item.Suspended, item.Stored:
		left := int64(math.Ceil(max(i.Due.Sub(now), 0).Seconds()))
		form.RemainingSeconds = &left
	default: // nothing comes by itself
	}
	return form
}

func newTracedItemForm(t *item.Traced, now time.Time) wire.TracedItemForm {
	form := wire.TracedItemForm{ItemForm: newItemForm(&t.Item, now), Trace: make([]wire.MoveForm, len(t.Trace))}
	for i := range t.Trace {
		m := &t.Trace[i]
		form.Trace[i] = wire.MoveForm{
			N: m.N, At: m.At.UTC(), From: string(m.From), To: string(m.To), Attempt: m.Attempt, Failures: m.Failures, Suspends: m.Suspends,
			Due: wire.Moment(m.Due), Assignee: m.Assignee, By: m.By, Node: m.Node, Note: m.Note,
		}
	}
	return form
}

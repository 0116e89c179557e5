package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/rules/catalog"
	"tallyman/sinks"
)

// eventPusher is a push channel that may be told of events of items. Where its other side answers that the item of a ready_again does not exist any more, the
// item is removed, and the delivery has arrived.
type eventPusher struct {
	sinks.Pusher

	sink   string
	queues map[string]*workQueue
	log    *slog.Logger
}

// goneNote is what the trace of such an item says.
const goneNote = "the receiver of ready_again answered 410: there is no such thing any more"

// Push implements sinks.Pusher. First the item is removed: whoever delivers the event again finds no item.
func (p *eventPusher) Push(ctx context.Context, batch []delivery.Delivery) error {
	err := p.Pusher.Push(ctx, batch)
	if _, gone := errors.AsType[*sinks.GoneError](err); !gone {
		return err
	}
	refused := &sinks.RefusedError{Err: err}
	isReadyAgain := false
	var told item.Told
	for i := range batch {
		if n := batch[i].Notice; n.Type == catalog.ItemEvent {
			told = item.ReadTold(n.Data)
			isReadyAgain = isReadyAgain || told.Event == item.EventReadyAgain
		}
		refused.Seqs = append(refused.Seqs, batch[i].Seq)
	}
	switch {
	case !isReadyAgain:
		return err
	case len(batch) > 1: // which of them is gone, only calls for each of them tell
		return refused
	}
	queue, ok := p.queues[told.Queue]
	if !ok {
		return fmt.Errorf("item %s was not removed, for this node has no queue %s: %w", told.ID, told.Queue, err)
	}
	removed, fault := queue.RemoveGone(ctx, &told, "sink:"+p.sink, goneNote)
	if fault != nil {
		return fmt.Errorf("item %s was not removed: %w (%w)", told.ID, fault, err)
	}
	p.log.Debug("The receiver of an event answered 410.", "sink", p.sink, "queue", told.Queue, "item", told.ID, "removed", removed)
	return nil
}

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

// eventPusher is a push channel that may get events of queue items. The receiver of a ready_again event may answer that
// the item does not exist any more. Then eventPusher removes the item from its queue, and the delivery counts as sent.
type eventPusher struct {
	sinks.Pusher

	sink   string
	queues map[string]*workQueue
	log    *slog.Logger
}

// goneNote is the note in the trace of an item that eventPusher has removed.
const goneNote = "the receiver of ready_again answered 410: the item does not exist there any more"

// Push implements sinks.Pusher. Push removes the item before the delivery is recorded as sent. So a repeated delivery
// finds no item, which is harmless.
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
	case len(batch) > 1: // The answer does not say which item is gone. The caller then sends each event alone.
		return refused
	}
	queue, ok := p.queues[told.Queue]
	if !ok {
		return fmt.Errorf("item %s was not removed, because this node has no queue %s: %w", told.ID, told.Queue, err)
	}
	removed, fault := queue.RemoveGone(ctx, &told, "sink:"+p.sink, goneNote)
	if fault != nil {
		return fmt.Errorf("item %s was not removed: %w (%w)", told.ID, fault, err)
	}
	p.log.Debug("The receiver of a ready_again event answered 410. The item is removed from its queue.", "sink", p.sink, "queue", told.Queue, "item", told.ID, "removed", removed)
	return nil
}

package inbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tallyman/sinks"
	"tallyman/sinks/inbox/page"
)

// Deliver puts the notices into the inboxes of their recipients, in order, and answers with the scores. The lane is a
// warehouse. While Redis is rebuilt it waits up to 5 s; the error is then a page.ErrUnavailable.
func (in *Inbox) Deliver(ctx context.Context, lane string, deliveries []sinks.Delivery) ([]sinks.Receipt, error) {
	batch, position, err := entries(lane, deliveries)
	if err != nil || len(batch) == 0 {
		return nil, err
	}
	deadline := time.Now().Add(patience)
	for {
		g, err := in.generations.await(ctx, deadline)
		if err != nil {
			return nil, err
		}
		scores, err := in.fanOut(ctx, g, lane, batch)
		if err == nil {
			return receipts(deliveries, position, scores, g.epoch), nil
		}
		if !errors.Is(err, errLost) {
			return nil, err
		}
	}
}

// errLost says that the generation ended under an operation, which may be tried again in the next.
var errLost = errors.New("inbox: the epoch is over")

// entries encodes the deliveries, each notice once, and says which entry each delivery became.
func entries(lane string, deliveries []sinks.Delivery) (batch []entry, position []int, err error) {
	batch = make([]entry, 0, len(deliveries))
	position = make([]int, len(deliveries))
	seen := make(map[string]int, len(deliveries))
	for i, d := range deliveries {
		if d.Notice.Warehouse != lane {
			return nil, nil, fmt.Errorf("inbox: notice %s of warehouse %q came in the lane of %q", d.Notice.ID, d.Notice.Warehouse, lane)
		}
		at, ok := seen[d.Notice.ID]
		if !ok {
			e, err := newEntry(d.Notice, d.Recipients, 0)
			if err != nil {
				return nil, nil, err
			}
			at = len(batch)
			seen[e.id] = at
			batch = append(batch, e)
		}
		position[i] = at
	}
	return batch, position, nil
}

func receipts(deliveries []sinks.Delivery, position []int, scores []int64, epoch string) []sinks.Receipt {
	out := make([]sinks.Receipt, len(deliveries))
	for i, d := range deliveries {
		out[i] = sinks.Receipt{Seq: d.Seq, Score: scores[position[i]], Epoch: epoch}
	}
	return out
}

// fanOut delivers all of the batch in one generation. After an error part of it may be in Redis, where the next try
// finds it. errLost asks for that try.
func (in *Inbox) fanOut(ctx context.Context, g *generation, warehouse string, batch []entry) ([]int64, error) {
	scores := make([]int64, 0, len(batch))
	for _, chunk := range chunks(batch) {
		got, err := in.put(ctx, g.epoch, warehouse, in.keys.hints(), chunk)
		var other *epochError
		if errors.As(err, &other) {
			if err = in.openWarehouse(ctx, g, warehouse, other); err != nil {
				return nil, err
			}
			got, err = in.put(ctx, g.epoch, warehouse, in.keys.hints(), chunk)
		}
		if errors.As(err, &other) {
			return nil, in.lost(g, warehouse, err)
		}
		if err != nil {
			return nil, err
		}
		scores = append(scores, got...)
	}
	// What was written over a connection to a server that turned out to be another one does not count.
	if !in.generations.is(g) {
		return nil, errLost
	}
	in.learn(warehouse)
	return scores, nil
}

// put is one call of fanout.lua, and the removal of what the cap pushed out of the last inbox that held it.
func (in *Inbox) put(ctx context.Context, epoch, warehouse, channel string, batch []entry) ([]int64, error) {
	keys, args := in.fanoutCall(epoch, warehouse, channel, batch)
	reply, err := in.run(ctx, in.scripts.fanout, keys, args...)
	if err != nil {
		return nil, err
	}
	answer, err := texts(reply)
	if err != nil {
		return nil, err
	}
	if len(answer) < len(batch) {
		return nil, fmt.Errorf("inbox: %d scores for %d notices", len(answer), len(batch))
	}
	scores := make([]int64, len(batch))
	for i := range scores {
		if scores[i], err = strconv.ParseInt(answer[i], 10, 64); err != nil {
			return nil, fmt.Errorf("inbox: a score that is none: %w", err)
		}
	}
	if removed := answer[len(batch):]; len(removed) > 0 {
		if err := in.drop(ctx, epoch, warehouse, removed); err != nil {
			// The bodies go when they expire.
			in.log.Warn("bodies that no inbox holds were left behind", "warehouse", warehouse, "error", err)
		}
	}
	return scores, nil
}

// openWarehouse gives a warehouse that has never had a notice its clock. One that should have a clock, or has that of a
// newer epoch, means that something was lost.
func (in *Inbox) openWarehouse(ctx context.Context, g *generation, warehouse string, found *epochError) error {
	if in.knows(warehouse) {
		return in.lost(g, warehouse, found)
	}
	highest, err := in.o.Ledger.HighestScores(ctx, in.o.Sink)
	if err != nil {
		return fmt.Errorf("inbox: %w: %w", page.ErrUnavailable, err)
	}
	if highest[warehouse] > 0 {
		return in.lost(g, warehouse, found)
	}
	err = in.beginWarehouse(ctx, g.epoch, warehouse, 0)
	if _, newer := errors.AsType[*epochError](err); newer {
		return in.lost(g, warehouse, err)
	}
	return err
}

// lost ends the generation because of what a warehouse showed.
func (in *Inbox) lost(g *generation, warehouse string, cause error) error {
	in.lose(g, fmt.Errorf("warehouse %s: %w", warehouse, cause))
	return errLost
}

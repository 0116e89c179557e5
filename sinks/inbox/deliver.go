package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// Deliver puts the notices into the inboxes of their recipients, in order, and returns their scores. The lane is a
// warehouse. While Redis is being rebuilt, Deliver waits up to 5 s, and then fails with page.ErrUnavailable. A notice
// of another warehouse, or one that cannot be encoded, is refused for good.
func (in writer) Deliver(ctx context.Context, lane string, deliveries []delivery.Delivery) ([]delivery.Receipt, error) {
	once, position, err := distinct(lane, deliveries)
	if err != nil || len(once) == 0 {
		return nil, err
	}
	deadline := time.Now().Add(recovery.CallTimeout)
	for {
		g, err := in.keeper.Await(ctx, deadline)
		if err != nil {
			return nil, err
		}
		var scores []int64
		if err = in.keeper.Compared(ctx, g); err == nil {
			scores, err = in.fanOut(ctx, g, lane, once)
		}
		if err == nil {
			return receipts(deliveries, position, scores, g.Epoch), nil
		}
		if !errors.Is(err, recovery.ErrLost) {
			return nil, err
		}
	}
}

// distinct returns each notice once, and for each delivery the position of its notice in that list. distinct refuses
// notices of other warehouses.
func distinct(lane string, deliveries []delivery.Delivery) (once []*delivery.Delivery, position []int, err error) {
	once = make([]*delivery.Delivery, 0, len(deliveries))
	position = make([]int, len(deliveries))
	seen := make(map[string]int, len(deliveries))
	var refused refusals
	for i := range deliveries {
		n := deliveries[i].Notice
		if n.Warehouse != lane {
			refused.add(deliveries[i].Seq, fmt.Errorf("inbox: notice %s of warehouse %q came in the lane of %q", n.ID, n.Warehouse, lane))
			continue
		}
		at, ok := seen[n.ID]
		if !ok {
			at = len(once)
			seen[n.ID] = at
			once = append(once, &deliveries[i])
		}
		position[i] = at
	}
	return once, position, refused.err()
}

// refusals collects deliveries that are refused for good, with the first reason.
type refusals struct {
	seqs  []int64
	cause error
}

func (r *refusals) add(seq int64, cause error) {
	r.seqs = append(r.seqs, seq)
	if r.cause == nil {
		r.cause = cause
	}
}

func (r *refusals) err() error {
	if len(r.seqs) == 0 {
		return nil
	}
	return &sinks.RefusedError{Seqs: r.seqs, Err: r.cause}
}

func receipts(deliveries []delivery.Delivery, position []int, scores []int64, epoch string) []delivery.Receipt {
	out := make([]delivery.Receipt, len(deliveries))
	for i, d := range deliveries {
		out[i] = delivery.Receipt{Seq: d.Seq, Score: scores[position[i]], Epoch: epoch}
	}
	return out
}

// fanOut delivers all notices in one generation. The next call is encoded while Redis works on the call before. After
// an error, some notices may be in Redis; a repeat finds them there. recovery.ErrLost asks the caller to repeat.
func (in writer) fanOut(ctx context.Context, g *recovery.Generation, warehouse string, once []*delivery.Delivery) ([]int64, error) {
	calls := make(chan *fanoutCall, 1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(calls)
		return in.encode(ctx, g.Epoch, warehouse, once, calls)
	})
	scores := make([]int64, 0, len(once))
	group.Go(func() error {
		for call := range calls {
			got, err := in.putInto(ctx, g, warehouse, call)
			if err != nil {
				return err
			}
			scores = append(scores, got...)
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	// The server may have been replaced during the calls. Then the scores do not count.
	if !in.keeper.Is(g) {
		return nil, recovery.ErrLost
	}
	in.learn(warehouse)
	return scores, nil
}

// encode makes the calls of fanout.lua, in order.
func (in writer) encode(ctx context.Context, epoch, warehouse string, once []*delivery.Delivery, calls chan<- *fanoutCall) error {
	for part := range slices.Chunk(once, maxBatch) {
		batch := make([]entry, 0, len(part))
		var refused refusals
		for _, d := range part {
			e, err := in.newEntry(d, 0)
			if err != nil {
				refused.add(d.Seq, err)
				continue
			}
			batch = append(batch, e)
		}
		if err := refused.err(); err != nil {
			return err
		}
		for _, chunk := range in.chunks(batch) {
			select {
			case calls <- in.newFanoutCall(epoch, warehouse, in.keys.hints(), chunk):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// putInto makes one call. If the warehouse has no clock yet, it first opens the warehouse.
func (in writer) putInto(ctx context.Context, g *recovery.Generation, warehouse string, call *fanoutCall) ([]int64, error) {
	scores, err := in.put(ctx, warehouse, call)
	var other *recovery.EpochError
	if errors.As(err, &other) {
		if err = in.openWarehouse(ctx, g, warehouse, other); err != nil {
			return nil, err
		}
		scores, err = in.put(ctx, warehouse, call)
	}
	if errors.As(err, &other) {
		return nil, in.lost(g, warehouse, err)
	}
	return scores, err
}

// put makes one call of fanout.lua, or the calls of a wide notice. Then it removes the bodies of notices that the cap
// has removed from their last inbox. If a wide delivery of another notice is still open, that delivery is undone first.
func (in writer) put(ctx context.Context, warehouse string, call *fanoutCall) (scores []int64, err error) {
	err = in.remover.undoing(ctx, call.epoch, warehouse, func() error {
		if call.wide != nil {
			score, err := in.putWide(ctx, call.epoch, warehouse, call.channel, call.wide)
			scores = []int64{score}
			return err
		}
		scores, err = in.putNarrow(ctx, warehouse, call)
		return err
	})
	return scores, err
}

func (in writer) putNarrow(ctx context.Context, warehouse string, call *fanoutCall) ([]int64, error) {
	reply, err := in.run(ctx, in.scripts.fanout, call.keys, call.args...)
	if err != nil {
		return nil, err
	}
	answer, err := texts(reply)
	if err != nil {
		return nil, err
	}
	if len(answer) < call.notices {
		return nil, fmt.Errorf("inbox: %d scores for %d notices", len(answer), call.notices)
	}
	scores := make([]int64, call.notices)
	for i := range scores {
		if scores[i], err = strconv.ParseInt(answer[i], 10, 64); err != nil {
			return nil, fmt.Errorf("inbox: a score cannot be read: %w", err)
		}
	}
	in.remover.dropped(ctx, call.epoch, warehouse, answer[call.notices:])
	return scores, nil
}

// openWarehouse creates the clock of a warehouse that never had a notice. If the warehouse should have a clock, or is
// at a newer epoch, something was lost. The same holds if Redis has lost the epoch: notices of the warehouse may not be
// recorded yet.
func (in *index) openWarehouse(ctx context.Context, g *recovery.Generation, warehouse string, found *recovery.EpochError) error {
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
	if err := in.keeper.Confirm(ctx, g); err != nil {
		return err
	}
	err = in.beginWarehouse(ctx, g.Epoch, warehouse, 0)
	if _, newer := errors.AsType[*recovery.EpochError](err); newer {
		return in.lost(g, warehouse, err)
	}
	if err != nil {
		return err
	}
	in.learn(warehouse) // this node must sweep the warehouse, even if the call that needed the clock fails
	return nil
}

// lost ends the generation because of an error in a warehouse.
func (in *index) lost(g *recovery.Generation, warehouse string, cause error) error {
	in.keeper.Lose(g, fmt.Errorf("warehouse %s: %w", warehouse, cause))
	return recovery.ErrLost
}

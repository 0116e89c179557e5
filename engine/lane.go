package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/delivery"
	"tallyman/internal/trace"
	"tallyman/sinks"
)

// batchSize is how many deliveries a sink is given at once.
const batchSize = 500

// drain delivers what is pending in the lane, in order, until nothing is left, the sink or the ledger
// fails, another node holds the lane, or stop is closed.
func (d *deliverer) drain(ctx context.Context, stop <-chan struct{}, lane delivery.Lane) error {
	lease := d.e.opts.Lease
	held, err := d.e.opts.Ledger.AcquireLane(ctx, lane, d.e.opts.Node, lease)
	if err != nil {
		return fmt.Errorf("taking the lane: %w", err)
	}
	if !held {
		return nil
	}
	defer d.release(ctx, lane)
	since := time.Now()
	for {
		batch, err := d.e.opts.Ledger.Pending(ctx, lane, batchSize)
		if err != nil {
			return fmt.Errorf("reading the lane: %w", err)
		}
		if len(batch) == 0 {
			return nil
		}
		if err := d.deliver(ctx, lane, batch); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		default:
		}
		if time.Since(since) < lease/3 {
			continue
		}
		if held, err = d.e.opts.Ledger.AcquireLane(ctx, lane, d.e.opts.Node, lease); err != nil || !held {
			return err
		}
		since = time.Now()
	}
}

// deliver hands a batch to the sink and records its answer. The sink has to answer while the lane is surely
// ours: otherwise another node might deliver later notices before these.
func (d *deliverer) deliver(ctx context.Context, lane delivery.Lane, batch []delivery.Delivery) error {
	d.e.opts.Step(StepDelivering)
	receipts, err := d.call(ctx, lane, batch)
	if refused, ok := errors.AsType[*sinks.RefusedError](err); ok && among(refused.Seqs, batch) {
		return d.end(ctx, lane, batch, refused)
	}
	if err != nil {
		d.e.opts.Observer.DeliveryDone(d.name, OutcomeRetried, len(batch))
		if merr := d.e.opts.Ledger.MarkAttempt(ctx, seqs(batch), judge.Cut(err.Error(), judge.LongError)); merr != nil {
			d.log.Warn("a failed attempt could not be recorded", "error", merr)
		}
		return err
	}
	d.e.opts.Step(StepDelivered)
	if err := d.e.opts.Ledger.MarkSent(ctx, receipts); err != nil {
		return fmt.Errorf("recording what the sink took: %w", err) // it gets them again, and answers the same
	}
	d.e.opts.Step(StepMarked)
	d.e.opts.Observer.DeliveryDone(d.name, OutcomeSent, len(batch))
	d.log.Debug("delivered", "warehouse", lane.Warehouse, "notices", delivery.Logged(batch))
	return nil
}

// end gives up on what the sink will never take. The others of its batch are still pending.
func (d *deliverer) end(ctx context.Context, lane delivery.Lane, batch []delivery.Delivery, refused *sinks.RefusedError) error {
	d.log.Error("deliveries failed for good", "warehouse", lane.Warehouse, "ids", refused.Seqs, "notices", refusedOf(batch, refused), "error", refused.Err)
	if err := d.e.opts.Ledger.MarkFailed(ctx, refused.Seqs, judge.Cut(refused.Err.Error(), judge.LongError)); err != nil {
		return fmt.Errorf("recording what the sink refused: %w", err)
	}
	d.e.opts.Observer.DeliveryDone(d.name, OutcomeRefused, len(refused.Seqs))
	return nil
}

// refusedOf are those of the batch that the sink will never take.
func refusedOf(batch []delivery.Delivery, refused *sinks.RefusedError) delivery.Logged {
	return slices.DeleteFunc(slices.Clone(batch), func(d delivery.Delivery) bool { return !slices.Contains(refused.Seqs, d.Seq) })
}

// among tells whether the numbers are some of the batch's.
func among(some []int64, batch []delivery.Delivery) bool {
	all := seqs(batch)
	return len(some) > 0 && !slices.ContainsFunc(some, func(seq int64) bool { return !slices.Contains(all, seq) })
}

// call turns a panic into an error: a notice that a sink cannot cope with must not take the node down.
func (d *deliverer) call(ctx context.Context, lane delivery.Lane, batch []delivery.Delivery) (receipts []delivery.Receipt, err error) {
	ctx, end := d.e.opts.Tracer.Deliver(ctx, &trace.Call{Sink: d.name, Warehouse: lane.Warehouse, Batch: batch})
	defer func() { end(err) }()
	defer func() {
		if reason := recover(); reason != nil {
			d.log.Error("panic in a sink", "warehouse", lane.Warehouse, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
			receipts, err = nil, fmt.Errorf("sink %s: panic: %v", d.name, reason)
		}
	}()
	ctx, done := context.WithTimeout(ctx, d.e.opts.Lease/2)
	defer done()
	receipts, err = d.sink.Deliver(ctx, lane.Warehouse, batch)
	if err != nil {
		return nil, fmt.Errorf("sink %s: %w", d.name, err)
	}
	if len(receipts) != len(batch) {
		return nil, fmt.Errorf("sink %s answered for %d of %d deliveries", d.name, len(receipts), len(batch))
	}
	return receipts, nil
}

// release gives the lane up, also when the engine is out of time.
func (d *deliverer) release(ctx context.Context, lane delivery.Lane) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	if err := d.e.opts.Ledger.ReleaseLane(ctx, lane, d.e.opts.Node); err != nil {
		d.log.Warn("the lane could not be given back; its lease ends by itself", "warehouse", lane.Warehouse, "error", err)
	}
}

func seqs(batch []delivery.Delivery) []int64 {
	list := make([]int64, len(batch))
	for i := range batch {
		list[i] = batch[i].Seq
	}
	return list
}

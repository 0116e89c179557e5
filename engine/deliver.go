package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/delivery"
	"tallyman/internal/retry"
	"tallyman/internal/trace"
	"tallyman/sinks"
)

// pollLanes is how often the loop asks the ledger for pending lanes. This node's commits hint at their lanes; the poll
// finds lanes that other nodes have filled or left.
const pollLanes = 500 * time.Millisecond

// deliverer is the loop of one sink. deliverer finds the lanes with pending deliveries and drains several at a time. A
// lane that fails rests and delays no other lane.
type deliverer struct {
	e    *Engine
	name string
	sink sinks.Sink
	log  *slog.Logger

	calls  sinkCalls
	signal chan struct{} // Signalled when hinted has a new lane.
	left   chan struct{} // Signalled when another node may have left lanes.
	mu     sync.Mutex
	hinted map[delivery.Lane]bool
}

func newDeliverer(e *Engine, name string, sink sinks.Sink) *deliverer {
	return &deliverer{
		e: e, name: name, sink: sink, log: e.log.With("sink", name),
		signal: make(chan struct{}, 1), left: make(chan struct{}, 1),
		hinted: map[delivery.Lane]bool{},
	}
}

// wake hints that the lane has pending deliveries. wake never blocks.
func (d *deliverer) wake(lane delivery.Lane) {
	d.mu.Lock()
	d.hinted[lane] = true
	d.mu.Unlock()
	select {
	case d.signal <- struct{}{}:
	default: // The loop has a signal already.
	}
}

// laneTable is what the loop knows of the lanes of its sink. The loop's goroutine alone uses it.
type laneTable struct {
	wanted  map[delivery.Lane]bool      // Lanes that the loop must drain.
	busy    map[delivery.Lane]bool      // Lanes that a goroutine drains now.
	resting map[delivery.Lane]*laneRest // Lanes whose last drain failed.
}

// laneRest is the pause of a lane after a failed drain.
type laneRest struct {
	until  time.Time
	pauses *retry.Pauses
}

// laneDrain is the result of draining a lane.
type laneDrain struct {
	lane delivery.Lane
	err  error
}

// loop drains lanes until stop is closed. Then it drains each wanted lane once more, for the last commits, unless the
// lane rests. It returns when these drains have ended. Where ctx ends first, the other lanes stay pending for another
// node or the next start.
func (d *deliverer) loop(ctx context.Context, stop <-chan struct{}) {
	known := laneTable{wanted: map[delivery.Lane]bool{}, busy: map[delivery.Lane]bool{}, resting: map[delivery.Lane]*laneRest{}}
	done := make(chan laneDrain)
	poll := time.NewTicker(pollLanes)
	defer poll.Stop()
	rested := time.NewTimer(0) // Fires when the next rest ends.
	defer rested.Stop()
	d.ask(ctx, &known)
	for {
		d.start(ctx, stop, &known, done)
		known.alarm(rested)
		select {
		case <-d.signal:
			d.takeHints(&known)
		case <-poll.C:
			d.ask(ctx, &known)
		case <-d.left:
			d.ask(ctx, &known)
		case <-rested.C:
		case end := <-done:
			d.ended(&known, end)
		case <-stop:
			d.takeHints(&known)
			d.finish(ctx, &known, done)
			return
		}
	}
}

// finish drains the wanted lanes, PerSink lanes at a time. A lane that fails now is not tried again.
func (d *deliverer) finish(ctx context.Context, known *laneTable, done chan laneDrain) {
	for d.start(ctx, nil, known, done); len(known.busy) > 0; {
		end := <-done
		delete(known.busy, end.lane)
		if end.err != nil {
			delete(known.wanted, end.lane)
			d.log.Warn("The lane was not drained before the stop. Its deliveries wait for another node or the next start.", "warehouse", end.lane.Warehouse, "error", end.err)
		}
		if ctx.Err() == nil {
			d.start(ctx, nil, known, done)
		}
	}
}

func (d *deliverer) takeHints(known *laneTable) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for lane := range d.hinted {
		known.wanted[lane] = true
	}
	clear(d.hinted)
}

func (d *deliverer) ask(ctx context.Context, known *laneTable) {
	pending, err := d.e.opts.Ledger.PendingLanes(ctx, d.name)
	if err != nil {
		d.log.Warn("The ledger did not list pending lanes. The node asks again soon.", "error", err)
		return
	}
	for _, lane := range pending {
		known.wanted[lane] = true
	}
}

// start drains the wanted lanes that are neither busy nor resting, up to PerSink lanes at a time.
func (d *deliverer) start(ctx context.Context, stop <-chan struct{}, known *laneTable, done chan<- laneDrain) {
	now := time.Now()
	for lane := range known.wanted {
		if len(known.busy) == d.e.opts.PerSink {
			return
		}
		if r := known.resting[lane]; known.busy[lane] || r != nil && now.Before(r.until) {
			continue
		}
		delete(known.wanted, lane)
		known.busy[lane] = true
		go func() { done <- laneDrain{lane, d.drain(ctx, stop, lane)} }()
	}
}

// ended records the result of a drain. A lane whose drain failed is drained again after a rest.
func (d *deliverer) ended(known *laneTable, end laneDrain) {
	delete(known.busy, end.lane)
	if end.err == nil {
		delete(known.resting, end.lane)
		d.calls.note(end.lane, nil)
		return
	}
	r := known.resting[end.lane]
	if r == nil {
		r = &laneRest{pauses: retry.New(100*time.Millisecond, 5*time.Second)}
		known.resting[end.lane] = r
		d.log.Warn("The lane was not drained: the sink or the ledger failed. Its deliveries wait, and the node tries again soon.", "warehouse", end.lane.Warehouse, "error", end.err)
	}
	r.until = time.Now().Add(r.pauses.Next())
	known.wanted[end.lane] = true
}

// alarm sets the timer to the next end of a rest of a wanted lane, and to the next poll at the latest.
func (l *laneTable) alarm(timer *time.Timer) {
	next := pollLanes
	for lane := range l.wanted {
		if r := l.resting[lane]; r != nil && !l.busy[lane] {
			// A lane whose rest is over does not need the timer. It waits until fewer than PerSink lanes are busy.
			if left := time.Until(r.until); left > 0 {
				next = min(next, left)
			}
		}
	}
	timer.Reset(next)
}

// batchSize is the largest number of deliveries in one call of a sink.
const batchSize = 500

// drain delivers the pending deliveries of the lane, in order. drain ends when the lane is empty, when the sink or the
// ledger fails, or when stop is closed. drain also ends when another node holds the lane, or when the node's session is
// not in force.
func (d *deliverer) drain(ctx context.Context, stop <-chan struct{}, lane delivery.Lane) error {
	session, lapsed := d.e.opts.Session.Hold()
	if session == "" {
		return nil // The next poll finds the lane, here or on another node.
	}
	ctx, cancel := until(ctx, lapsed)
	defer cancel()
	l := heldLane{d, lane, session}
	err := l.drain(ctx, stop)
	if !d.e.opts.Session.Holds(session) {
		return nil // The error comes from the lost session, and is no fault of the sink.
	}
	return err
}

// heldLane is a lane that a session of this node holds.
type heldLane struct {
	*deliverer

	lane    delivery.Lane
	session string
}

func (l *heldLane) drain(ctx context.Context, stop <-chan struct{}) error {
	lease := l.e.opts.Lease
	held, err := l.e.opts.Ledger.AcquireLane(ctx, l.lane, l.session, lease)
	if err != nil {
		return fmt.Errorf("taking the lane: %w", err)
	}
	if !held {
		return nil
	}
	defer l.release(ctx)
	since := time.Now()
	for {
		batch, err := l.e.opts.Ledger.Pending(ctx, l.lane, batchSize)
		if err != nil {
			return fmt.Errorf("reading the lane: %w", err)
		}
		if len(batch) == 0 {
			return nil
		}
		if err := l.deliver(ctx, batch); err != nil {
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
		if held, err = l.e.opts.Ledger.AcquireLane(ctx, l.lane, l.session, lease); err != nil || !held {
			return err
		}
		since = time.Now()
	}
}

// deliver hands a batch to the sink and records the answer. The sink must answer while this node surely holds the lane.
// Otherwise another node might deliver later notices before these notices. So deliver checks the session before the
// call and before each record. A node that was frozen neither calls nor records.
func (l *heldLane) deliver(ctx context.Context, batch []delivery.Delivery) error {
	l.e.opts.Step(StepDelivering)
	if !l.e.opts.Session.Holds(l.session) {
		return errAbsent
	}
	made := delivery.Attempt{At: time.Now()}
	receipts, err := l.call(ctx, l.lane, batch)
	made.Took = time.Since(made.At)
	if !l.e.opts.Session.Holds(l.session) {
		return errAbsent // The call was cut off, or this node may not record the answer any more.
	}
	l.calls.note(l.lane, err)
	if refused, ok := errors.AsType[*sinks.RefusedError](err); ok && among(refused.Seqs, batch) {
		l.calls.note(l.lane, nil) // A refusal is an answer: the sink works.
		return l.end(ctx, l.lane, batch, refused, made)
	}
	if err != nil {
		l.e.opts.Observer.DeliveryDone(l.name, OutcomeRetried, len(batch))
		made.Error = judge.Cut(err.Error(), judge.LongError)
		if merr := l.e.opts.Ledger.MarkAttempt(ctx, seqs(batch), made); merr != nil {
			l.log.Warn("A failed attempt was not recorded in the ledger. The deliveries stay pending.", "error", merr)
		}
		return err
	}
	l.e.opts.Step(StepDelivered)
	if !l.e.opts.Session.Holds(l.session) {
		return errAbsent
	}
	if err := l.e.opts.Ledger.MarkSent(ctx, l.session, receipts, made); err != nil {
		// The sink gets the same deliveries again and answers the same, since sinks are idempotent.
		return fmt.Errorf("recording the deliveries that the sink took: %w", err)
	}
	l.e.opts.Step(StepMarked)
	l.e.opts.Observer.DeliveryDone(l.name, OutcomeSent, len(batch))
	now := l.e.opts.Clock.Now()
	for i := range batch {
		l.e.opts.Observer.DeliveryTook(l.name, now.Sub(batch[i].Notice.CreatedAt))
	}
	l.log.Debug("The sink took deliveries.", "warehouse", l.lane.Warehouse, "notices", delivery.LogEntry(batch))
	return nil
}

// end records the refused deliveries as failed: the sink will never take them. The rest of the batch stays pending.
func (d *deliverer) end(ctx context.Context, lane delivery.Lane, batch []delivery.Delivery, refused *sinks.RefusedError, made delivery.Attempt) error {
	d.log.Error("The sink refused deliveries for good. The node does not try them again.", "warehouse", lane.Warehouse, "ids", refused.Seqs, "notices", refusedOf(batch, refused), "error", refused.Err)
	made.Error, made.Refused = judge.Cut(refused.Err.Error(), judge.LongError), true
	if err := d.e.opts.Ledger.MarkFailed(ctx, refused.Seqs, made); err != nil {
		return fmt.Errorf("recording the refused deliveries: %w", err)
	}
	d.e.opts.Observer.DeliveryDone(d.name, OutcomeRefused, len(refused.Seqs))
	return nil
}

// refusedOf returns the refused deliveries of the batch.
func refusedOf(batch []delivery.Delivery, refused *sinks.RefusedError) delivery.LogEntry {
	return slices.DeleteFunc(slices.Clone(batch), func(d delivery.Delivery) bool { return !slices.Contains(refused.Seqs, d.Seq) })
}

// among tells whether there are numbers and all of them belong to the batch. An answer that names other deliveries is
// no valid refusal.
func among(some []int64, batch []delivery.Delivery) bool {
	all := seqs(batch)
	return len(some) > 0 && !slices.ContainsFunc(some, func(seq int64) bool { return !slices.Contains(all, seq) })
}

// call calls the sink, and turns a panic into an error: a notice that crashes a sink must not stop the node.
func (d *deliverer) call(ctx context.Context, lane delivery.Lane, batch []delivery.Delivery) (receipts []delivery.Receipt, err error) {
	ctx, end := d.e.opts.Tracer.Deliver(ctx, &trace.Call{Sink: d.name, Warehouse: lane.Warehouse, Batch: batch})
	defer func() { end(err) }()
	defer func() {
		if reason := recover(); reason != nil {
			d.log.Error("The sink panicked. Its deliveries stay pending.", "warehouse", lane.Warehouse, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
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

// release gives the lane back to the ledger. Its own time limit lets it work when ctx is over.
func (l *heldLane) release(ctx context.Context) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	if err := l.e.opts.Ledger.ReleaseLane(ctx, l.lane, l.session); err != nil {
		l.log.Warn("The ledger did not take the lane back. Another node can drain the lane when its lease ends.", "warehouse", l.lane.Warehouse, "error", err)
	}
}

func seqs(batch []delivery.Delivery) []int64 {
	list := make([]int64, len(batch))
	for i := range batch {
		list[i] = batch[i].Seq
	}
	return list
}

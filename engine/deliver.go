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

// pollLanes is how often the ledger is asked for lanes that no hint of this node has named: those of
// other nodes, and those that a node has left.
const pollLanes = 500 * time.Millisecond

// deliverer is the loop of one sink. It finds the lanes with something to deliver and drains them, some at a
// time. A lane that fails rests, and holds up no other.
type deliverer struct {
	e    *Engine
	name string
	sink sinks.Sink
	log  *slog.Logger

	calls  sinkCalls
	signal chan struct{} // something was hinted
	left   chan struct{} // another node may have left lanes
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

// wake hints at a lane. It never blocks.
func (d *deliverer) wake(lane delivery.Lane) {
	d.mu.Lock()
	d.hinted[lane] = true
	d.mu.Unlock()
	select {
	case d.signal <- struct{}{}:
	default: // the loop will look anyway
	}
}

// laneTable is what the loop knows of the lanes of its sink.
type laneTable struct {
	wanted  map[delivery.Lane]bool      // to be drained
	busy    map[delivery.Lane]bool      // being drained
	resting map[delivery.Lane]*laneRest // failed of late
}

// laneRest is a lane after a failure.
type laneRest struct {
	until  time.Time
	pauses *retry.Pauses
}

// laneDrain is how the draining of a lane ended.
type laneDrain struct {
	lane delivery.Lane
	err  error
}

// loop drains lanes until stop is closed, then those once more that were hinted at, and waits for them.
func (d *deliverer) loop(ctx context.Context, stop <-chan struct{}) {
	known := laneTable{wanted: map[delivery.Lane]bool{}, busy: map[delivery.Lane]bool{}, resting: map[delivery.Lane]*laneRest{}}
	done := make(chan laneDrain)
	poll := time.NewTicker(pollLanes)
	defer poll.Stop()
	rested := time.NewTimer(0) // when the next lane has rested
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
			d.start(ctx, nil, &known, done)
			for range known.busy {
				<-done
			}
			return
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
		d.log.Warn("the ledger cannot be asked what is to be delivered", "error", err)
		return
	}
	for _, lane := range pending {
		known.wanted[lane] = true
	}
}

// start drains the wanted lanes that are neither busy nor resting, as far as there is room.
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

// ended notes how a lane did. One that failed is tried again after a rest.
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
		d.log.Warn("deliveries wait: the sink did not take them", "warehouse", end.lane.Warehouse, "error", end.err)
	}
	r.until = time.Now().Add(r.pauses.Next())
	known.wanted[end.lane] = true
}

// alarm sets the timer to the end of the next rest of a lane that is wanted.
func (l *laneTable) alarm(timer *time.Timer) {
	next := pollLanes // no later than the next poll
	for lane := range l.wanted {
		if r := l.resting[lane]; r != nil && !l.busy[lane] {
			if left := time.Until(r.until); left > 0 { // else it waits for room
				next = min(next, left)
			}
		}
	}
	timer.Reset(next)
}

// batchSize is how many deliveries a sink is given at once.
const batchSize = 500

// drain delivers what is pending in the lane, in order, until nothing is left, the sink or the ledger
// fails, another node holds the lane, the session of the node is not in force, or stop is closed.
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
		return nil // whatever it was
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

// deliver hands a batch to the sink and records its answer. The sink has to answer while the lane is surely ours:
// otherwise another node might deliver later notices before these. A node that was frozen begins and records nothing.
func (l *heldLane) deliver(ctx context.Context, batch []delivery.Delivery) error {
	l.e.opts.Step(StepDelivering)
	if !l.e.opts.Session.Holds(l.session) {
		return errAbsent
	}
	made := delivery.Attempt{At: time.Now()}
	receipts, err := l.call(ctx, l.lane, batch)
	made.Took = time.Since(made.At)
	if !l.e.opts.Session.Holds(l.session) {
		return errAbsent // What the sink said is of a call that was cut off, or is not ours to record.
	}
	l.calls.note(l.lane, err)
	if refused, ok := errors.AsType[*sinks.RefusedError](err); ok && among(refused.Seqs, batch) {
		l.calls.note(l.lane, nil) // the sink works
		return l.end(ctx, l.lane, batch, refused, made)
	}
	if err != nil {
		l.e.opts.Observer.DeliveryDone(l.name, OutcomeRetried, len(batch))
		made.Error = judge.Cut(err.Error(), judge.LongError)
		if merr := l.e.opts.Ledger.MarkAttempt(ctx, seqs(batch), made); merr != nil {
			l.log.Warn("a failed attempt could not be recorded", "error", merr)
		}
		return err
	}
	l.e.opts.Step(StepDelivered)
	if !l.e.opts.Session.Holds(l.session) {
		return errAbsent
	}
	if err := l.e.opts.Ledger.MarkSent(ctx, l.session, receipts, made); err != nil {
		return fmt.Errorf("recording what the sink took: %w", err) // it gets them again, and answers the same
	}
	l.e.opts.Step(StepMarked)
	l.e.opts.Observer.DeliveryDone(l.name, OutcomeSent, len(batch))
	now := l.e.opts.Clock.Now()
	for i := range batch {
		l.e.opts.Observer.DeliveryTook(l.name, now.Sub(batch[i].Notice.CreatedAt))
	}
	l.log.Debug("delivered", "warehouse", l.lane.Warehouse, "notices", delivery.LogEntry(batch))
	return nil
}

// end gives up on what the sink will never take. The others of its batch are still pending.
func (d *deliverer) end(ctx context.Context, lane delivery.Lane, batch []delivery.Delivery, refused *sinks.RefusedError, made delivery.Attempt) error {
	d.log.Error("deliveries failed for good", "warehouse", lane.Warehouse, "ids", refused.Seqs, "notices", refusedOf(batch, refused), "error", refused.Err)
	made.Error, made.Refused = judge.Cut(refused.Err.Error(), judge.LongError), true
	if err := d.e.opts.Ledger.MarkFailed(ctx, refused.Seqs, made); err != nil {
		return fmt.Errorf("recording what the sink refused: %w", err)
	}
	d.e.opts.Observer.DeliveryDone(d.name, OutcomeRefused, len(refused.Seqs))
	return nil
}

// refusedOf are those of the batch that the sink will never take.
func refusedOf(batch []delivery.Delivery, refused *sinks.RefusedError) delivery.LogEntry {
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
func (l *heldLane) release(ctx context.Context) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	if err := l.e.opts.Ledger.ReleaseLane(ctx, l.lane, l.session); err != nil {
		l.log.Warn("the lane could not be given back; its lease ends by itself", "warehouse", l.lane.Warehouse, "error", err)
	}
}

func seqs(batch []delivery.Delivery) []int64 {
	list := make([]int64, len(batch))
	for i := range batch {
		list[i] = batch[i].Seq
	}
	return list
}

package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tallyman/internal/delivery"
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

	signal chan struct{} // something was hinted
	mu     sync.Mutex
	hinted map[delivery.Lane]bool
}

func newDeliverer(e *Engine, name string, sink sinks.Sink) *deliverer {
	return &deliverer{
		e: e, name: name, sink: sink, log: e.log.With("sink", name),
		signal: make(chan struct{}, 1),
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

// lanes is what the loop knows of the lanes of its sink.
type lanes struct {
	wanted  map[delivery.Lane]bool     // to be drained
	busy    map[delivery.Lane]bool     // being drained
	resting map[delivery.Lane]*resting // failed of late
}

// resting is a lane after a failure.
type resting struct {
	until time.Time
	retry backoff
}

// drained is how the draining of a lane ended.
type drained struct {
	lane delivery.Lane
	err  error
}

// loop drains lanes until stop is closed, then those once more that were hinted at, and waits for them.
func (d *deliverer) loop(ctx context.Context, stop <-chan struct{}) {
	known := lanes{wanted: map[delivery.Lane]bool{}, busy: map[delivery.Lane]bool{}, resting: map[delivery.Lane]*resting{}}
	done := make(chan drained)
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

func (d *deliverer) takeHints(known *lanes) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for lane := range d.hinted {
		known.wanted[lane] = true
	}
	clear(d.hinted)
}

func (d *deliverer) ask(ctx context.Context, known *lanes) {
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
func (d *deliverer) start(ctx context.Context, stop <-chan struct{}, known *lanes, done chan<- drained) {
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
		go func() { done <- drained{lane, d.drain(ctx, stop, lane)} }()
	}
}

// ended notes how a lane did. One that failed is tried again after a rest.
func (d *deliverer) ended(known *lanes, end drained) {
	delete(known.busy, end.lane)
	if end.err == nil {
		delete(known.resting, end.lane)
		return
	}
	r := known.resting[end.lane]
	if r == nil {
		r = &resting{retry: backoff{first: 100 * time.Millisecond, most: 5 * time.Second}}
		known.resting[end.lane] = r
		d.log.Warn("deliveries wait: the sink did not take them", "warehouse", end.lane.Warehouse, "error", end.err)
	}
	r.until = time.Now().Add(r.retry.wait())
	known.wanted[end.lane] = true
}

// alarm sets the timer to the end of the next rest of a lane that is wanted.
func (l *lanes) alarm(timer *time.Timer) {
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

package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tallyman/internal/item"
)

const (
	commitFlights = 2
	commitItems   = 5000 // in one commit
)

// pushRecords is what a call of Push wants to have in the ledger.
type pushRecords struct {
	records []item.Record
	known   []item.PushAnswer
	given   []bool // without a ledger: the caller gave the id, so that one that exists is not this push's own
}

// newCommits lets pushes that come at the same time share commits of the ledger.
func (l *queueLine) newCommits() *combiner[*pushRecords] {
	return &combiner[*pushRecords]{
		flights: commitFlights,
		fits: func(parts []*callPart[*pushRecords], next *pushRecords) bool {
			items := len(next.records)
			for _, p := range parts {
				items += len(p.what.records)
			}
			return items <= commitItems
		},
		call: func(ctx context.Context, _ int, parts []*callPart[*pushRecords]) { l.commit(ctx, parts) },
	}
}

// commit records the items of some pushes in one transaction. Where that fails each push has one of its own, so that nobody
// fails because of what another wants to push. A ledger that does not answer is not asked again for each.
func (l *queueLine) commit(ctx context.Context, parts []*callPart[*pushRecords]) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer from the ledger within %s", callTimeout))
	defer cancel()
	if err := l.commitOnce(ctx, parts); err != nil {
		for i := range parts {
			one := parts[i : i+1]
			switch {
			case ctx.Err() != nil:
				err = fmt.Errorf("ledger: %w", context.Cause(ctx))
			case len(parts) > 1:
				err = l.commitOnce(ctx, one)
			}
			one[0].err = err
		}
	}
	for _, p := range parts {
		p.answer()
	}
}

func (l *queueLine) commitOnce(ctx context.Context, parts []*callPart[*pushRecords]) error {
	records := parts[0].what.records
	if len(parts) > 1 {
		records = nil
		for _, p := range parts {
			records = append(records, p.what.records...)
		}
	}
	known, err := l.o.Ledger.PushItems(ctx, l.name, records)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if len(known) != len(records) {
		return fmt.Errorf("ledger: %d answers for %d items", len(known), len(records))
	}
	for _, p := range parts {
		n := len(p.what.records)
		p.what.known, known = known[:n:n], known[n:]
	}
	return nil
}

// combiner lets those who call at the same time share calls: while as many as flights are under way, the next collects. Nobody
// waits for company. A call does not end with the context of one of those who share it.
type combiner[T any] struct {
	// call does what the parts ask for and sets their errors. The flight, 0 … flights − 1, is its own while it runs.
	call func(ctx context.Context, flight int, parts []*callPart[T])
	// fits tells whether one more may go with those parts.
	fits    func(parts []*callPart[T], next T) bool
	flights int

	mu      sync.Mutex
	flying  []bool
	waiting [][]*callPart[T]
	landed  chan struct{} // closed when no call is under way any more; nil while nobody wants to know
}

// callPart is what one caller asks of a call.
type callPart[T any] struct {
	what T
	err  error

	done  chan struct{}
	state atomic.Int32
}

// The states of a part: open until it is answered or its caller has left, whichever is first.
const (
	open int32 = iota
	answered
	left
)

// do has a call do it, and returns its error, or that of the context. Then nothing in what may be read.
func (c *combiner[T]) do(ctx context.Context, what T) error {
	p := &callPart[T]{what: what, done: make(chan struct{})}
	c.enter(ctx, p)
	select {
	case <-p.done:
	case <-ctx.Done():
		if p.state.CompareAndSwap(open, left) {
			return ctx.Err()
		}
		<-p.done
	}
	return p.err
}

// enter puts the part into the last call that waits if it may go there, and starts a call if one may start.
func (c *combiner[T]) enter(ctx context.Context, p *callPart[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.waiting) - 1; last >= 0 && c.fits(c.waiting[last], p.what) {
		c.waiting[last] = append(c.waiting[last], p)
	} else {
		c.waiting = append(c.waiting, []*callPart[T]{p})
	}
	if c.flying == nil {
		c.flying = make([]bool, c.flights)
	}
	if flight := slices.Index(c.flying, false); flight >= 0 {
		c.flying[flight] = true
		go c.fly(context.WithoutCancel(ctx), flight)
	}
}

// fly makes calls until none waits.
func (c *combiner[T]) fly(ctx context.Context, flight int) {
	for parts := c.next(flight); parts != nil; parts = c.next(flight) {
		parts = slices.DeleteFunc(parts, func(p *callPart[T]) bool { return p.state.Load() == left })
		if len(parts) > 0 {
			c.call(ctx, flight, parts)
		}
	}
}

// next takes the call that waits longest, or ends the flight.
func (c *combiner[T]) next(flight int) []*callPart[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.flying[flight] = false
		if c.landed != nil && !slices.Contains(c.flying, true) {
			close(c.landed)
			c.landed = nil
		}
		return nil
	}
	parts := c.waiting[0]
	c.waiting[0] = nil
	c.waiting = c.waiting[1:]
	return parts
}

// rest waits until no call is under way: one may go on after all who shared it have left.
func (c *combiner[T]) rest() {
	c.mu.Lock()
	if !slices.Contains(c.flying, true) {
		c.mu.Unlock()
		return
	}
	if c.landed == nil {
		c.landed = make(chan struct{})
	}
	landed := c.landed
	c.mu.Unlock()
	<-landed
}

// answer lets the caller go on; it is false if nobody waits for it any more.
func (p *callPart[T]) answer() bool {
	if !p.state.CompareAndSwap(open, answered) {
		return false
	}
	close(p.done)
	return true
}

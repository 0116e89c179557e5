// Package combine lets those who call at the same time share calls, as a database shares the flush of commits that come together.
package combine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Calls lets those who call at the same time share calls: while as many as flights are under way, the next collects. Nobody
// waits for company. A call does not end with the context of one of those who share it.
type Calls[T any] struct {
	// Call does what the parts ask for and sets their errors. The flight, 0 … Flights − 1, is its own while it runs.
	Call func(ctx context.Context, flight int, parts []*Part[T])
	// Fits tells whether one more may go with those parts.
	Fits    func(parts []*Part[T], next T) bool
	Flights int

	mu      sync.Mutex
	flying  []bool
	waiting [][]*Part[T]
	landed  chan struct{} // closed when no call is under way any more; nil while nobody wants to know
}

// Part is what one caller asks of a call.
type Part[T any] struct {
	What T
	Err  error

	done  chan struct{}
	state atomic.Int32
}

// The states of a part: open until it is answered or its caller has left, whichever is first.
const (
	open int32 = iota
	answered
	left
)

// Do has a call do it, and returns its error, or that of the context. Then nothing in what may be read.
func (c *Calls[T]) Do(ctx context.Context, what T) error {
	p := &Part[T]{What: what, done: make(chan struct{})}
	c.enter(ctx, p)
	select {
	case <-p.done:
	case <-ctx.Done():
		if p.state.CompareAndSwap(open, left) {
			return ctx.Err()
		}
		<-p.done
	}
	return p.Err
}

// enter puts the part into the last call that waits if it may go there, and starts a call if one may start.
func (c *Calls[T]) enter(ctx context.Context, p *Part[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.waiting) - 1; last >= 0 && c.Fits(c.waiting[last], p.What) {
		c.waiting[last] = append(c.waiting[last], p)
	} else {
		c.waiting = append(c.waiting, []*Part[T]{p})
	}
	if c.flying == nil {
		c.flying = make([]bool, c.Flights)
	}
	if flight := slices.Index(c.flying, false); flight >= 0 {
		c.flying[flight] = true
		go c.fly(context.WithoutCancel(ctx), flight)
	}
}

// fly makes calls until none waits.
func (c *Calls[T]) fly(ctx context.Context, flight int) {
	for parts := c.next(flight); parts != nil; parts = c.next(flight) {
		parts = slices.DeleteFunc(parts, func(p *Part[T]) bool { return p.state.Load() == left })
		if len(parts) > 0 {
			c.Call(ctx, flight, parts)
		}
	}
}

// next takes the call that waits longest, or ends the flight.
func (c *Calls[T]) next(flight int) []*Part[T] {
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

// Rest waits until no call is under way: one may go on after all who shared it have left.
func (c *Calls[T]) Rest() {
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

// Answer lets the caller go on; it is false if nobody waits for it any more.
func (p *Part[T]) Answer() bool {
	if !p.state.CompareAndSwap(open, answered) {
		return false
	}
	close(p.done)
	return true
}

// Waiting is how many wait for the next calls.
func (c *Calls[T]) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, parts := range c.waiting {
		n += len(parts)
	}
	return n
}

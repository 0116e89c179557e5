// Package combine lets those who call at the same time share calls, as a database shares the flush of commits that come together.
package combine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Calls lets those who call at the same time share calls: while as many as flights are under way, the next collects. A call that is the only one
// never waits for company. A call does not end with the context of one of those who share it.
type Calls[T any] struct {
	// Call does what the parts ask for and sets their errors. The flight, 0 … Flights − 1, is its own while it runs.
	Call func(ctx context.Context, flight int, parts []*Part[T])
	// Fits tells whether one more may go with those parts.
	Fits    func(parts []*Part[T], next T) bool
	Flights int
	// Gather is how long a call waits for company while another one is under way or has just ended. A full call does not wait. 0 = no call waits.
	Gather time.Duration

	mu      sync.Mutex
	flying  []bool
	waiting [][]*Part[T]
	full    chan struct{} // has one when a call is full
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
		c.flying, c.full = make([]bool, c.Flights), make(chan struct{}, 1)
	}
	if len(c.waiting) > 1 {
		select {
		case c.full <- struct{}{}:
		default:
		}
	}
	if flight := slices.Index(c.flying, false); flight >= 0 {
		alone := !slices.Contains(c.flying, true)
		c.flying[flight] = true
		go c.fly(context.WithoutCancel(ctx), flight, alone)
	}
}

// fly makes calls until none waits. The first does not gather where no other is under way.
func (c *Calls[T]) fly(ctx context.Context, flight int, alone bool) {
	for first := true; ; first = false {
		if !alone || !first {
			c.gather()
		}
		parts := c.next(flight)
		if parts == nil {
			return
		}
		parts = slices.DeleteFunc(parts, func(p *Part[T]) bool { return p.state.Load() == left })
		if len(parts) > 0 {
			c.Call(ctx, flight, parts)
		}
	}
}

// gather waits for company of the call that goes next, if there is one.
func (c *Calls[T]) gather() {
	if c.Gather == 0 || c.Waiting() == 0 {
		return
	}
	timer := time.NewTimer(c.Gather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.full:
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

// Package combine lets concurrent callers share calls, as a database shares the flush of commits that come together.
package combine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Calls lets concurrent callers share calls. At most Flights calls run at a time; while they run, the next call
// collects its parts. If nothing runs, a caller never waits for others. A shared call does not end with the context of
// one of its callers.
type Calls[T any] struct {
	// Call does what the parts ask for and sets their errors. flight is 0 … Flights − 1. No two calls that run at the
	// same time have the same flight.
	Call func(ctx context.Context, flight int, parts []*Part[T])
	// Fits tells whether one more part may join these parts.
	Fits    func(parts []*Part[T], next T) bool
	Flights int
	// Gather is how long a call waits for more parts while another call runs or has just ended. A full call does not
	// wait. 0 means no wait.
	Gather time.Duration

	mu      sync.Mutex
	flying  []bool
	waiting [][]*Part[T]
	full    chan struct{} // has a token when a call is full
	landed  chan struct{} // closed when no call runs any more; nil if nobody waits for that
}

// Part is what one caller asks of a shared call.
type Part[T any] struct {
	What T
	Err  error

	done  chan struct{}
	state atomic.Int32
}

// The states of a part. It is open until it is answered or its caller has left, whichever comes first.
const (
	open int32 = iota
	answered
	left
)

// Do adds a part to a call and waits for the call. It returns the part's error, or the context's. After the context's
// error, the call may still use what, so the caller must not read it.
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

// enter adds the part to the last waiting call if it fits, else to a new one. It starts a flight if one is free.
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

// fly makes calls until none waits. If no other flight runs, the first call does not gather.
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

// gather gives the next call time to collect more parts, if a call waits.
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

// next returns the oldest waiting call, or ends the flight.
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

// Rest waits until no call runs. A call may run on after all its callers have left.
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

// Answer lets the caller of the part continue. It returns false if the caller has left.
func (p *Part[T]) Answer() bool {
	if !p.state.CompareAndSwap(open, answered) {
		return false
	}
	close(p.done)
	return true
}

// Waiting returns how many parts wait for the next calls.
func (c *Calls[T]) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, parts := range c.waiting {
		n += len(parts)
	}
	return n
}

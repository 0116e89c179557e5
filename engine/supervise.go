package engine

import (
	"context"
	"sync"
	"time"

	"tallyman/rules"
)

// mostNap is how long the supervisor sleeps at most: clocks are set, and machines sleep.
const mostNap = time.Minute

// supervise starts the units that the crew gets, carries out orders, and looks again when a switch ends. When stop is closed it tells all units
// to end.
func (e *Engine) supervise(ctx context.Context, stop <-chan struct{}, runs *sync.WaitGroup) {
	defer close(e.closed)
	e.crew.mu.Lock()
	e.crew.live = true
	e.crew.mu.Unlock()
	for {
		for _, u := range e.crew.takeFresh() {
			runs.Go(func() { u.live(ctx) })
		}
		nap := time.NewTimer(e.nap())
		select {
		case <-stop:
			nap.Stop()
			e.crew.stop()
			for _, u := range e.crew.takeFresh() { // nobody has started them: who waits for their end need not
				close(u.ended)
			}
			return
		case <-e.changed:
		case o := <-e.orders:
			runs.Go(func() { o.carryOut(ctx, stop) })
		case <-nap.C:
			e.rearrange()
		}
		nap.Stop()
	}
}

// takeFresh returns the units that have to be started.
func (c *crew) takeFresh() []*unit {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.fresh
	c.fresh = nil
	return fresh
}

// stop tells all units to end.
func (c *crew) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, u := range c.units {
		c.end(u)
	}
}

// nap is how long it is until a switch ends by itself.
func (e *Engine) nap() time.Duration {
	now := e.opts.Clock.Now()
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	next := mostNap
	for i := range e.crew.switches {
		if s := &e.crew.switches[i]; s.InForce(now) && !s.Until.IsZero() {
			next = min(next, max(e.opts.Clock.Real(s.Until.Sub(now)), time.Millisecond))
		}
	}
	return next
}

// rearrange makes the units be those of the enabled rules, after a switch was thrown or has ended.
func (e *Engine) rearrange() {
	e.crew.mu.Lock()
	err := e.crew.arrange(e.makeUnit, e.opts.Clock.Now(), time.Time{})
	e.crew.mu.Unlock()
	if err != nil { // Replace has made a unit of each rule once
		e.log.Error("the rules that are enabled now could not be started", "error", err)
	}
	signal(e.changed)
}

func (e *Engine) makeUnit(r *rules.Rule) (*unit, error) { return newUnit(e, r, e.slots[r.Source]) }

// signal leaves word without waiting for anybody.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

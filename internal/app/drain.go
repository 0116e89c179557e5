package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tallyman/internal/wire"
)

// drain takes the node out of service, in this order:
//
//  1. /readyz answers 503. The node claims nothing more, finishes its runs, and gives its lanes back.
//  2. The delay of the configuration passes. Load balancers notice the 503 meanwhile, and the node answers as before.
//  3. Streams and polls that wait end. Their clients go on at another node, with their cursors.
//
// A node whose process stops ends after step 3. A node that an operator drains stays, and answers, until somebody stops
// it. A node that drains by itself stays as well. A node drains by itself when a contract step has removed something
// from the ledger that the node needs.
type drain struct {
	asked chan struct{} // Closed when an operator has asked for the drain, or exclude has begun the drain.

	mu    sync.Mutex
	since time.Time // When the drain began. Zero means the node is in service.
	cause error     // Why the node drains by itself. Nil means somebody asked for the drain.
	done  bool
}

func newDrain() *drain { return &drain{asked: make(chan struct{})} }

// ask asks for the drain. It does nothing where the drain was asked for before.
func (d *drain) ask() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.asked:
	default:
		close(d.asked)
		d.enter()
	}
}

// exclude begins the drain of a node that may not use the ledger any more, for the reason err.
func (d *drain) exclude(err error) {
	d.mu.Lock()
	d.cause = fmt.Errorf("drain: the node has gone out of service: %w", err)
	d.mu.Unlock()
	d.ask()
}

// begin marks the node as out of service, and returns when the drain began.
func (d *drain) begin() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	return d.since
}

// enter records when the drain began. The caller holds mu.
func (d *drain) enter() {
	if d.since.IsZero() {
		d.since = time.Now()
	}
}

func (d *drain) finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
}

// errDraining is why a node that drains is not ready.
var errDraining = errors.New("drain: the node drains: it begins nothing new, and other nodes do its work; stop the process, or restart it to bring the node back into service")

// fault returns why the node is out of service, or nil.
func (d *drain) fault() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.since.IsZero():
		return nil
	case d.cause != nil:
		return d.cause
	}
	return errDraining
}

func (d *drain) form(node string) wire.DrainForm {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := wire.DrainForm{Node: node, State: wire.DrainNone}
	if !d.since.IsZero() {
		since := d.since.UTC()
		f.State, f.Since = wire.DrainRuns, &since
	}
	if d.done {
		f.State = wire.DrainDone
	}
	return f
}

// DrainForm says how far the drain is.
func (a *App) DrainForm() wire.DrainForm { return a.drain.form(a.opts.Node) }

// AskDrain begins the drain.
func (a *App) AskDrain() { a.drain.ask() }

// awaitDrain waits until the node goes out of service: the process stops, a part has failed, an operator asks, or
// exclude was called.
func (a *App) awaitDrain(ctx, failed context.Context) {
	select {
	case <-ctx.Done():
	case <-failed.Done():
	case <-a.drain.asked:
	}
	a.drain.begin()
	a.log.Info("The node drains.", "node", a.opts.Node, "delay", a.cfg.Node.DrainDelay)
}

// awaitBalancers waits until the delay is over, so that load balancers send no more callers to this node. A part that
// has failed ends the wait.
func (a *App) awaitBalancers(failed context.Context) {
	rest := time.NewTimer(time.Until(a.drain.begin().Add(a.cfg.Node.DrainDelay)))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-failed.Done():
	}
}

// awaitStop waits until the process stops or a part has failed.
func (a *App) awaitStop(ctx, failed context.Context) {
	select {
	case <-ctx.Done():
	case <-failed.Done():
	}
}

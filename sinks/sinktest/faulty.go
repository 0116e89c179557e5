package sinktest

import (
	"context"
	"sync"

	"tallyman/internal/delivery"
	"tallyman/sinks"
)

// Faulty passes deliveries on to a real sink, and fails on demand. Faulty is safe for concurrent use.
type Faulty struct {
	sink sinks.Sink

	mu     sync.Mutex
	faults []fault
	gate   chan struct{} // calls wait until it is closed
	calls  int
}

type fault struct {
	err   error
	after bool // the sink takes the batch, and then the answer is lost
}

// NewFaulty returns a Faulty that passes everything on until it is told to fail.
func NewFaulty(sink sinks.Sink) *Faulty {
	f := &Faulty{sink: sink, gate: make(chan struct{})}
	close(f.gate)
	return f
}

// FailNext makes the next n calls fail with err. The sink does not see them.
func (f *Faulty) FailNext(n int, err error) { f.add(n, fault{err: err}) }

// LoseAnswers makes the next n calls fail with err after the sink took their deliveries.
func (f *Faulty) LoseAnswers(n int, err error) { f.add(n, fault{err: err, after: true}) }

// Hold makes calls wait until Release, or until their context ends.
func (f *Faulty) Hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isClosed(f.gate) {
		f.gate = make(chan struct{})
	}
}

// Release lets the waiting calls continue.
func (f *Faulty) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !isClosed(f.gate) {
		close(f.gate)
	}
}

// Calls returns the number of calls so far, including those that failed or still wait.
func (f *Faulty) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Deliver implements sinks.Sink.
func (f *Faulty) Deliver(ctx context.Context, lane string, batch []delivery.Delivery) ([]delivery.Receipt, error) {
	next, gate := f.enter()
	select {
	case <-gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if next.err != nil && !next.after {
		return nil, next.err
	}
	receipts, err := f.sink.Deliver(ctx, lane, batch)
	if err == nil && next.err != nil {
		return nil, next.err
	}
	return receipts, err
}

func (f *Faulty) enter() (fault, chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	var next fault
	if len(f.faults) > 0 {
		next, f.faults = f.faults[0], f.faults[1:]
	}
	return next, f.gate
}

func (f *Faulty) add(n int, what fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		f.faults = append(f.faults, what)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

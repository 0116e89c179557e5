package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

var (
	errStopping = errors.New("the engine stops")
	errLost     = errors.New("the lease was lost; another node runs the firing")
	errAbsent   = errors.New("this node has no session; it takes one as soon as the ledger answers")
	errStale    = errors.New("the types have changed since the rule was compiled")
)

// slots bounds how much runs at a time.
type slots chan struct{}

func (s slots) acquire(stop <-chan struct{}) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-stop:
		return false
	}
}

func (s slots) release() { <-s }

// room is what a firing takes up from its claim until its rows are judged: it is inside the gate of its source, and
// while it asks, it has a place of the source and a worker. A rule that is not verified asks nothing: it has a worker
// alone. A firing that shares a scan has a worker after the scan, which has a room of its own.
type room struct {
	unit   *unit
	asks   bool
	shares bool
	began  time.Time // when it had its place and its worker
	held   []slots
	left   bool
}

// enter waits for what the firing needs to be claimed.
func (r *room) enter(stop <-chan struct{}) bool {
	switch {
	case r.asks:
		return r.unit.gate.enter(stop)
	case r.shares:
		return true
	}
	return r.take(r.unit.e.workers, stop)
}

// begin waits for what the firing needs to ask its source.
func (r *room) begin(ctx context.Context) error {
	if r.asks && (!r.take(r.unit.slots, ctx.Done()) || !r.take(r.unit.e.workers, ctx.Done())) {
		return context.Cause(ctx)
	}
	r.began = time.Now()
	return nil
}

func (r *room) take(s slots, stop <-chan struct{}) bool {
	if !s.acquire(stop) {
		return false
	}
	r.held = append(r.held, s)
	return true
}

// leave makes room for others; more than once does nothing.
func (r *room) leave() {
	if r.left {
		return
	}
	r.left = true
	for _, s := range r.held {
		s.release()
	}
	if r.asks {
		took := time.Duration(0)
		if !r.began.IsZero() {
			took = time.Since(r.began)
		}
		r.unit.gate.leave(took)
	}
}

// claimAndFire waits for room, claims the firing and runs it to its commit. The claim that it returns may
// be for an older firing, which a dead node has left.
func (u *unit) claimAndFire(ctx context.Context, stop <-chan struct{}, due time.Time) (ledger.Claim, error) {
	verified := u.unverified == nil
	taken := room{unit: u, asks: verified && u.group == nil, shares: verified && u.group != nil}
	if !taken.enter(stop) {
		return ledger.Claim{}, errStopping
	}
	defer taken.leave()
	u.e.timetable.release(u)
	select {
	case <-stop: // it was disabled while it waited
		return ledger.Claim{}, errStopping
	default:
	}
	if u.stale(ctx) {
		return ledger.Claim{}, errStale // it has waited to be let in
	}

	session, ended := u.e.opts.Session.Own()
	if session == "" {
		return ledger.Claim{}, errAbsent
	}
	asked := time.Now()
	defer u.e.hands.take(u)()
	claim, err := u.e.opts.Ledger.Claim(ctx, u.rule.ID, u.rule.Scope, u.term.Number, due, session, u.e.opts.Lease)
	if err != nil {
		if ctx.Err() != nil {
			return claim, errStopping
		}
		return claim, err
	}
	return claim, u.hold(ctx, ended, &taken, claim, asked)
}

// hold runs the firing under the claim, for as long as the session lives. What it cannot finish it gives back, unless
// another node has it already.
func (u *unit) hold(ctx context.Context, ended <-chan struct{}, taken *room, claim ledger.Claim, asked time.Time) error {
	now := time.Now()
	h := &claimHandle{ledger: u.e.opts.Ledger, room: taken, claim: claim, lease: u.e.opts.Lease, asked: asked, given: now, renewed: now}
	work, cancel := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		select {
		case <-ended:
			cancel(errLost)
		case <-work.Done():
		}
	})
	renewing.Go(func() { h.keep(work, cancel) })
	err := taken.begin(work)
	if err == nil {
		if claim.Term == u.term.Number {
			u.e.opts.Observer.FiringLag(u.now().Sub(u.plan.start(claim.Due)))
		}
		err = u.fire(work, h)
	}
	lost := context.Cause(work)
	cancel(nil)
	renewing.Wait()

	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrFenced) || errors.Is(lost, errLost):
		return errLost
	}
	// The context may be over; the ledger gets two seconds to hear of it. If it does not, the lease ends by itself.
	bye, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	if rerr := h.ledger.Release(bye, claim); rerr != nil {
		u.logger().Warn("the firing could not be given back; its lease ends by itself", "due", claim.Due, "error", rerr)
	}
	if ctx.Err() != nil {
		return errStopping
	}
	return err
}

// claimHandle is a claim in force, and what was done under it so far.
type claimHandle struct {
	ledger Ledger
	room   *room
	claim  ledger.Claim
	lease  time.Duration
	asked  time.Time      // the claim, on this machine's clock
	given  time.Time      // and when it was
	run    ledger.Run     // the sum of the passes
	traced *notice.Origin // the last pass; nil before the first

	mu      sync.Mutex // a renewal never runs beside the commit, which ends the claim
	renewed time.Time  // on this machine's clock
	over    bool
}

// keep renews the claim every third of its lease until ctx ends, and cancels the work when the claim is lost or
// may be.
func (h *claimHandle) keep(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(h.lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := h.renew(ctx); errors.Is(err, errLost) {
				cancel(err)
				return
			}
		}
	}
}

// renew extends the claim. The error is errLost when another node has it, or when it has not been extended for so long
// that one may have.
func (h *claimHandle) renew(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, h.lease/3)
	defer done()
	err := h.ledger.Renew(ctx, h.claim, h.lease)
	switch {
	case err == nil:
		h.renewed = time.Now()
		return nil
	case errors.Is(err, ledger.ErrFenced) || time.Since(h.renewed) >= h.lease:
		return errLost
	}
	return err
}

// commit writes the record. Afterwards the claim is over, unless the record says that there is more.
func (h *claimHandle) commit(ctx context.Context, record *ledger.Commit) (ledger.CommitResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	committed, err := h.ledger.Commit(ctx, h.claim, record)
	h.over = err == nil && !record.Again
	return committed, err
}

// add counts a pass.
func (h *claimHandle) add(run *ledger.Run) { h.run = judge.AddPass(&h.run, run) }

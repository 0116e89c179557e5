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
	errAbsent   = errors.New("this node has no session in the ledger; the node takes one as soon as the ledger answers")
	errStale    = errors.New("the types have changed since the rule was compiled")
)

// slots bounds how many runs are active at a time.
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

// room is the capacity that a firing takes up from before its claim until its commit. The commit of a quiet record
// needs no room. A firing takes a place in the gate of its source before the claim. After the claim it also takes a
// place at the source and a worker. Two kinds of firings do not ask the source themselves. A firing of an unverified
// rule takes only a worker. A firing that shares a scan takes a worker after the scan. The shared scan has a room of
// its own.
type room struct {
	unit   *unit
	asks   bool      // The firing asks the source itself.
	shares bool      // The firing shares a scan.
	began  time.Time // When the firing got its place and its worker.
	held   []slots
	left   bool
}

// enter waits until the firing may be claimed. enter returns false when stop is closed first.
func (r *room) enter(stop <-chan struct{}) bool {
	switch {
	case r.asks:
		return r.unit.gate.enter(stop)
	case r.shares:
		return true
	}
	return r.take(r.unit.e.workers, stop)
}

// begin waits for a place at the source and a worker, if the firing asks its source. The error is the cause of ctx's
// end.
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

// leave gives the capacity back. A second call does nothing.
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

// claimAndFire waits for room, claims the firing and runs the firing to its commit. The returned claim may be of an
// older firing that a dead node has left, because the ledger hands out such a firing first.
func (u *unit) claimAndFire(ctx context.Context, stop <-chan struct{}, due time.Time) (ledger.Claim, error) {
	verified := u.unverified == nil
	taken := room{unit: u, asks: verified && u.group == nil, shares: verified && u.group != nil}
	if !taken.enter(stop) {
		return ledger.Claim{}, errStopping
	}
	defer taken.leave()
	u.e.timetable.release(u)
	select {
	case <-stop: // The rule was disabled while the firing waited for room.
		return ledger.Claim{}, errStopping
	default:
	}
	if u.stale(ctx) {
		return ledger.Claim{}, errStale // The types changed while the firing waited for room.
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

// hold runs the firing under the claim, for as long as the session lives. Where the firing does not finish, hold gives
// the firing back to the ledger, unless another node has taken the firing already.
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
	// ctx may be over, so the release has a context of its own. If the release fails, the lease ends by itself.
	bye, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	if rerr := h.ledger.Release(bye, claim); rerr != nil {
		u.logger().Warn("The ledger did not take the unfinished firing back. Another node can run the firing when its lease ends.", "due", claim.Due, "error", rerr)
	}
	if ctx.Err() != nil {
		return errStopping
	}
	return err
}

// claimHandle is a claim in force, with the results of the passes under the claim.
type claimHandle struct {
	ledger Ledger
	room   *room
	claim  ledger.Claim
	lease  time.Duration
	asked  time.Time      // When the node asked for the claim, on this machine's clock.
	given  time.Time      // When the ledger's answer came, on this machine's clock.
	run    ledger.Run     // The sum of the passes.
	traced *notice.Origin // The origin of the last pass. Nil before the first.

	mu      sync.Mutex // A renewal must never run beside the commit, which ends the claim.
	renewed time.Time  // On this machine's clock.
	over    bool
}

// keep renews the claim every third of its lease until ctx ends. keep cancels the work when the claim is lost, or may
// be lost.
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

// renew extends the claim. The error is errLost when another node has the claim. The error is also errLost when the
// last renewal is a whole lease ago, because another node may have the claim by then.
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

// commit writes the record. Afterwards the claim is over, unless the record says that another pass follows.
func (h *claimHandle) commit(ctx context.Context, record *ledger.Commit) (ledger.CommitResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	committed, err := h.ledger.Commit(ctx, h.claim, record)
	h.over = err == nil && !record.Again
	return committed, err
}

// add adds a pass to the sum of the run.
func (h *claimHandle) add(run *ledger.Run) { h.run = judge.AddPass(&h.run, run) }

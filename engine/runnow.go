package engine

import (
	"context"
	"errors"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// orderWait is how long RunNow waits for the run to end.
const orderWait = 5 * time.Second

// The errors of RunNow that callers tell apart.
var (
	ErrRunning  = errors.New("a firing of the rule is running")
	ErrStopping = errors.New("the node is stopping")
)

// UnverifiedError says why a rule cannot run now.
type UnverifiedError struct{ Err error }

// Error says it.
func (e *UnverifiedError) Error() string { return "the rule does not run: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *UnverifiedError) Unwrap() error { return e.Err }

// RequestedFiring is a firing that an operator has asked for.
type RequestedFiring struct {
	Rule, Scope string
	Due         time.Time
	Run         *ledger.Run // nil while it runs, or waits for a free worker
}

// order is a firing that an operator has asked for, on its way through the supervisor.
type order struct {
	unit  *unit // of its own
	due   time.Time
	reply chan error // has room for one
}

// RunNow runs a firing that is due now, once in the cluster, also of a rule that is disabled: an operator has asked for
// it. scope may be nil where the rule has one. begin is called when the firing can begin, and before it does; where
// begin returns an error the firing does not begin, and RunNow returns the error. RunNow waits a few seconds for the
// end. Errors are *UnknownError, ErrManyScopes, ErrRunning, *UnverifiedError, ErrStopping, and the ledger's.
func (e *Engine) RunNow(ctx context.Context, rule string, scope *string, begin func(*RequestedFiring) error) (*RequestedFiring, error) {
	r, err := e.Rule(rule, scope)
	if err != nil {
		return nil, err
	}
	o, err := e.newOrder(ctx, r)
	if err != nil {
		return nil, err
	}
	ordered := &RequestedFiring{Rule: r.ID, Scope: r.Scope, Due: o.due}
	if err := begin(ordered); err != nil {
		return nil, err
	}
	select {
	case e.orders <- o:
	case <-e.closed:
		return nil, ErrStopping
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	timer := time.NewTimer(orderWait)
	defer timer.Stop()
	select {
	case err := <-o.reply:
		if err != nil {
			return nil, err
		}
		ordered.Run = o.unit.status.lastRun()
	case <-timer.C:
	case <-ctx.Done():
	}
	return ordered, nil
}

// newOrder looks whether the rule can run now, and sets the due time.
func (e *Engine) newOrder(ctx context.Context, r *rules.Rule) (*order, error) {
	u, err := e.makeUnit(r)
	if err != nil {
		return nil, err
	}
	now := u.now().UTC().Truncate(time.Microsecond)
	state, err := e.opts.Ledger.Register(ctx, r.ID, r.Scope, u.term.Number, now)
	if err != nil {
		return nil, err
	}
	if state.Running != nil {
		return nil, running(state.Running)
	}
	if running := e.crew.unit(r.ID, r.Scope); running == nil {
		u.catchUpFrom, u.wasDisabled = now, true // for its findings no time has passed while it was disabled
		if _, err := u.thaw(ctx, state, standing(state, u.term)); err != nil {
			return nil, err
		}
	} else if reason := running.status.whyNot(); reason != "" && !running.alertsOnError() {
		return nil, &UnverifiedError{errors.New(reason)}
	}
	if state.IsDone(u.term.Number, now) { // another node's clock is ahead
		now = state.Done.Add(time.Microsecond)
	}
	u.since, u.plan.jitter = now, 0
	return &order{unit: u, due: now, reply: make(chan error, 1)}, nil
}

// standing is after which firing a rule goes on in the clock term.
func standing(s ledger.ScopeState, term ledger.Term) time.Time {
	if s.Term < term.Number {
		return term.Began
	}
	if s.Done.IsZero() {
		return s.Registered
	}
	return s.Done
}

// carryOut runs the firing, and before it one that a dead node has left.
func (o *order) carryOut(ctx context.Context, stop <-chan struct{}) {
	err := o.run(ctx, stop)
	if err != nil && ctx.Err() == nil {
		o.unit.logger().Warn("a firing that was asked for did not run", "due", o.due, "error", err)
	}
	o.reply <- err
}

func (o *order) run(ctx context.Context, stop <-chan struct{}) error {
	idle, cancel := until(ctx, stop)
	defer cancel()
	const attempts = 4 // the types may change meanwhile, and a firing may have been left
	for range attempts {
		if err := o.unit.check(idle, stop, o.unit.now()); err != nil && !o.unit.alertsOnError() {
			if errors.Is(err, errStopping) || idle.Err() != nil {
				return ErrStopping
			}
			return &UnverifiedError{err}
		}
		claim, err := o.unit.claimAndFire(ctx, stop, o.due)
		switch {
		case err == nil && claim.Term == o.unit.term.Number && claim.Due.Equal(o.due):
			return nil
		case errors.Is(err, errStopping):
			return ErrStopping
		case errors.Is(err, ledger.ErrBusy), errors.Is(err, ledger.ErrDone):
			return ErrRunning
		case err != nil && !errors.Is(err, errStale):
			return err
		}
	}
	return ErrRunning
}

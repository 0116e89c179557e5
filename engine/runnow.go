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

// Errors of RunNow.
var (
	ErrRunning  = errors.New("a firing of the rule is running")
	ErrStopping = errors.New("the node is stopping")
)

// UnverifiedError says that a rule does not run, and why.
type UnverifiedError struct{ Err error }

// Error returns the message with the reason.
func (e *UnverifiedError) Error() string { return "the rule does not run: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *UnverifiedError) Unwrap() error { return e.Err }

// RequestedFiring is a firing that an operator has asked for.
type RequestedFiring struct {
	Rule, Scope string
	Due         time.Time
	Run         *ledger.Run // Nil while the firing runs or waits for a free worker.
}

// order is a firing that an operator has asked for. RunNow hands it to the supervisor.
type order struct {
	unit  *unit // Made for this order. It is not in the timetable.
	due   time.Time
	reply chan error // Has a buffer of one, so that carryOut never blocks.
}

// RunNow runs a firing that is due now, because an operator has asked for it. The firing runs once in the cluster, even
// when the rule is disabled. scope may be nil for a rule with one scope.
//
// RunNow calls begin right before the firing begins. Where begin returns an error, the firing does not begin and RunNow
// returns that error. RunNow waits a few seconds for the end of the run. Errors are *UnknownError, ErrManyScopes,
// ErrRunning, *UnverifiedError, ErrStopping, and the ledger's.
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

// newOrder checks that the rule can run now, and sets the due time.
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
	if live := e.crew.unit(r.ID, r.Scope); live == nil {
		u.catchUpFrom, u.wasDisabled = now, true // While a rule is disabled, no time passes for its findings; see thaw.
		if _, err := u.thaw(ctx, state, standing(state, u.term)); err != nil {
			return nil, err
		}
	} else if reason := live.status.whyNot(); reason != "" && !live.alertsOnError() {
		return nil, &UnverifiedError{errors.New(reason)}
	}
	// Where the clock of another node was ahead, its firing may be later than now. The new due time must be later than
	// the due time of the last firing.
	if state.IsDone(u.term.Number, now) {
		now = state.Done.Add(time.Microsecond)
	}
	u.since, u.plan.jitter = now, 0
	return &order{unit: u, due: now, reply: make(chan error, 1)}, nil
}

// standing returns the firing after which the rule goes on in the clock term. For a rule without a run it returns when
// the ledger first heard of the rule. In a new term it returns the start of the term.
func standing(s ledger.ScopeState, term ledger.Term) time.Time {
	if s.Term < term.Number {
		return term.Began
	}
	if s.Done.IsZero() {
		return s.Registered
	}
	return s.Done
}

// carryOut runs the ordered firing. carryOut first runs a firing that a dead node has left, if there is one.
func (o *order) carryOut(ctx context.Context, stop <-chan struct{}) {
	err := o.run(ctx, stop)
	if err != nil && ctx.Err() == nil {
		o.unit.logger().Warn("The firing that an operator asked for did not run.", "due", o.due, "error", err)
	}
	o.reply <- err
}

func (o *order) run(ctx context.Context, stop <-chan struct{}) error {
	idle, cancel := until(ctx, stop)
	defer cancel()
	const attempts = 4 // An attempt may meet changed types, or run the firing of a dead node instead.
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

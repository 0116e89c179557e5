package engine

import (
	"context"
	"errors"
	"time"

	"tallyman/rules"
	"tallyman/scanners"
)

// A rule with on_error: alert tells of its failed runs, and so it has some while it is not verified: when a firing comes due, the rule
// is checked once more, again and again for a moment, and then the firing is claimed and recorded as a failed run with the reason.
// In that moment a node that has the rule verified takes the firing. Between the due times the rule goes on being checked.

// tellsFailures tells whether the rule runs, and fails, while it is not verified.
func (u *unit) tellsFailures() bool { return u.rule.OnError == rules.PolicyAlert }

// mostVerifyWait is how long a firing that is due waits for its rule to be verified, and half of the schedule's shortest interval
// at most.
const mostVerifyWait = time.Minute

func (u *unit) unready() bool { return u.scoped.Program == nil || u.unverified != nil }

// verifyWait is how long this rule's firing waits.
func (u *unit) verifyWait() time.Duration { return min(mostVerifyWait, u.scoped.Policy.Shortest/2) }

// check verifies the rule and what its probe costs. Of a rule that tells of its failures it waits for a source that hangs, or that is
// busy with other rules, not much longer than until.
func (u *unit) check(ctx context.Context, stop <-chan struct{}, until time.Time) error {
	if !u.tellsFailures() {
		return u.checkOnce(ctx, stop)
	}
	bounded, done := context.WithTimeout(ctx, max(u.e.opts.Clock.Real(until.Sub(u.now())), time.Second))
	defer done()
	err := u.checkOnce(bounded, bounded.Done())
	if errors.Is(err, errStopping) && ctx.Err() == nil {
		err = &scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("everything that may ask the source is busy")}
	}
	u.unverified = err
	return err
}

func (u *unit) checkOnce(ctx context.Context, stop <-chan struct{}) error {
	if err := u.verify(ctx, stop); err != nil {
		return err
	}
	return u.checkCost(ctx, stop)
}

// givesUp tells whether a rule that tells of its failures has been waited for long enough. A ledger that is out of reach is waited for as ever: nothing
// could be recorded.
func (u *unit) givesUp(err error, until time.Time) bool {
	var noTypes *typesError
	return u.tellsFailures() && !errors.As(err, &noTypes) && !u.now().Before(until)
}

package engine

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
)

// handoverTime is how long after its start a firing may still be taken by a node that had the file of its rule earlier. Nodes look at their files every few seconds.
const handoverTime = 15 * time.Second

// takeOver says from when on the unit makes good what was missed. before is the unit that ran another version of its rule, if one did; free is
// when an operator's switch left the rule free; since is when the files have changed, zero where they have not.
func (u *unit) takeOver(before *unit, free, since time.Time) {
	switch {
	case before != nil && before.rule.Schedule != u.rule.Schedule:
		u.catchUpFrom = since // what the new schedule would have had before was never due
	case before != nil:
		if before.madeIn == u.madeIn { // the one before may not have begun
			u.catchUpFrom, u.wasDisabled, u.handover = before.catchUpFrom, before.wasDisabled, before.handover
		}
	case !since.IsZero():
		u.catchUpFrom, u.wasDisabled, u.handover = since, true, handoverTime
	default:
		u.catchUpFrom, u.wasDisabled = free, true
	}
}

// thaw leaves out what came due before from, and returns after which firing the plan begins. For the findings of a rule that was disabled no time has
// passed meanwhile: the ledger notes that.
func (u *unit) thaw(ctx context.Context, state ledger.ScopeState, base time.Time) (time.Time, error) {
	if u.catchUpFrom.IsZero() || u.term.Number != u.madeIn || u.catchUpFrom.After(u.now()) { // ahead of the clock it is of an earlier term
		return base, nil
	}
	leaveOut := u.e.opts.Ledger.Thaw
	if state.Running != nil && state.Running.Term == u.term.Number { // it began before, and changes the findings itself
		base, leaveOut = state.Running.Due, u.e.opts.Ledger.Skip
	}
	until := u.catchUpFrom.Add(-u.plan.jitter)
	missed := u.plan.schedule.Missed(base, until, 1)
	if len(missed) == 0 {
		return base, nil
	}
	last := missed[0]
	frozen := u.plan.schedule.Missed(base, until.Add(-u.handover), mostMissed)
	if !u.wasDisabled || len(frozen) == 0 {
		return last, nil
	}
	latest := frozen[len(frozen)-1]
	if err := leaveOut(ctx, u.rule.ID, u.rule.Scope, u.term.Number, latest, u.e.opts.Node, frozenFor(len(frozen))); err != nil {
		return base, err
	}
	u.logger().Info("the rule runs again; what came due meanwhile is left out", "firings", len(frozen), "latest", latest)
	return last, nil
}

// frozenFor is why so many firings were left out.
func frozenFor(firings int) string {
	switch firings {
	case 1:
		return "disabled: a firing came due while the rule was disabled"
	case mostMissed:
		return fmt.Sprintf("disabled: %d firings or more came due while the rule was disabled", mostMissed)
	}
	return fmt.Sprintf("disabled: %d firings came due while the rule was disabled", firings)
}

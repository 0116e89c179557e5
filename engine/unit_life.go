package engine

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// live runs the unit's loop, once the unit whose place it takes has ended, until it is told to end.
func (u *unit) live(ctx context.Context) {
	defer close(u.ended)
	if u.after != nil {
		<-u.after
	}
	select {
	case <-u.off:
	default:
		u.loop(ctx, u.off)
	}
}

func (u *unit) hasEnded() bool {
	select {
	case <-u.ended:
		return true
	default:
		return false
	}
}

// means tells whether the unit runs that rule already. Of one that is not verified the places in the file count, too: its reason names them.
func (u *unit) means(r *rules.Rule) bool {
	return u.rule == r || r.Checksum != "" && u.rule.Checksum == r.Checksum && u.status.isVerified()
}

// handover is how long after its start a firing may still be taken by a node that had the file of its rule earlier. Nodes look at their files every few seconds.
const handover = 15 * time.Second

// takeOver says from when on the unit makes good what was missed. before is the unit that ran another version of its rule, if one did; free is
// when an operator's switch left the rule free; since is when the files have changed, zero where they have not.
func (u *unit) takeOver(before *unit, free, since time.Time) {
	switch {
	case before != nil:
		u.after = before.ended
		if before.rule.Schedule != u.rule.Schedule {
			u.from = since // what the new schedule would have had before was never due
		}
	case !since.IsZero():
		u.from, u.thaws, u.others = since, true, handover
	default:
		u.from, u.thaws = free, true
	}
}

// thaw leaves out what came due before from, and returns after which firing the plan begins. For the findings of a rule that was disabled no time has
// passed meanwhile: the ledger notes that.
func (u *unit) thaw(ctx context.Context, state ledger.ScopeState, base time.Time) (time.Time, error) {
	if u.from.IsZero() {
		return base, nil
	}
	leaveOut := u.e.opts.Ledger.Thaw
	if state.Running != nil { // it began before, and changes the findings itself
		base, leaveOut = state.Running.Due, u.e.opts.Ledger.Skip
	}
	until := u.from.Add(-u.plan.jitter)
	missed := u.plan.schedule.Missed(base, until, 1)
	if len(missed) == 0 {
		return base, nil
	}
	last := missed[0]
	frozen := u.plan.schedule.Missed(base, until.Add(-u.others), mostMissed)
	if !u.thaws || len(frozen) == 0 {
		return last, nil
	}
	latest := frozen[len(frozen)-1]
	if err := leaveOut(ctx, u.rule.ID, u.rule.Scope, latest, u.e.opts.Node, frozenFor(len(frozen))); err != nil {
		return base, err
	}
	u.log.Info("the rule runs again; what came due meanwhile is left out", "firings", len(frozen), "latest", latest)
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

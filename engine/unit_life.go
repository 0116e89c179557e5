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
		u.from, u.thaws = since, 2 // one may just be due on a node that had the file earlier
	default:
		u.from, u.thaws = free, 1
	}
}

// thaw leaves out what came due before from, and returns after which firing the plan begins. For the findings of a rule that was disabled no time has
// passed meanwhile: the ledger notes that.
func (u *unit) thaw(ctx context.Context, state ledger.ScopeState, base time.Time) (time.Time, error) {
	missed := u.plan.schedule.Missed(base, u.from.Add(-u.plan.jitter), mostMissed)
	if u.from.IsZero() || len(missed) == 0 {
		return base, nil
	}
	last := missed[len(missed)-1]
	if u.thaws == 0 || len(missed) < u.thaws || state.Running != nil {
		return last, nil
	}
	reason := "disabled: a firing came due while the rule was disabled"
	if len(missed) > 1 {
		reason = fmt.Sprintf("disabled: %d firings came due while the rule was disabled", len(missed))
	}
	if len(missed) == mostMissed {
		reason = fmt.Sprintf("disabled: %d firings or more came due while the rule was disabled", mostMissed)
	}
	if err := u.e.opts.Ledger.Thaw(ctx, u.rule.ID, u.rule.Scope, last, u.e.opts.Node, reason); err != nil {
		return base, err
	}
	u.log.Info("the rule runs again; what came due meanwhile is left out", "firings", len(missed), "latest", last)
	return last, nil
}

package engine

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
)

// handoverTime is how long nodes may have different versions of a rule file after the start of a firing. Meanwhile a
// node may claim the firing by its own version. Each node looks at its files every few seconds, so nodes do not take up
// a new file together.
const handoverTime = 15 * time.Second

// takeOver sets catchUpFrom: from this time on the unit catches up on missed firings. before is the unit that ran
// another version of the rule; nil means there was none. switchedAt is when a switch of the rule was last changed or
// ended. filesChangedAt is when the rule files changed; zero means they have not changed.
func (u *unit) takeOver(before *unit, switchedAt, filesChangedAt time.Time) {
	switch {
	case before != nil && before.rule.Schedule != u.rule.Schedule:
		u.catchUpFrom = filesChangedAt // Firings of the new schedule before the change were never due.
	case before != nil:
		// The old unit may have ended before it made its plan, so its bounds still count.
		if before.madeIn == u.madeIn {
			u.catchUpFrom, u.wasDisabled, u.handover = before.catchUpFrom, before.wasDisabled, before.handover
		}
	case !filesChangedAt.IsZero():
		u.catchUpFrom, u.wasDisabled, u.handover = filesChangedAt, true, handoverTime
	default:
		u.catchUpFrom, u.wasDisabled = switchedAt, true
	}
}

// thaw skips the firings that were due before catchUpFrom. base is the rule's last firing; thaw returns the firing
// after which the plan begins. Where the rule was disabled, Ledger.Thaw records the last skipped firing. The observed
// clock of the rule's findings goes on from this firing, as if no time had passed while the rule was disabled.
func (u *unit) thaw(ctx context.Context, state ledger.ScopeState, base time.Time) (time.Time, error) {
	// A time ahead of the clock is of an earlier clock term.
	if u.catchUpFrom.IsZero() || u.term.Number != u.madeIn || u.catchUpFrom.After(u.now()) {
		return base, nil
	}
	// A running firing began earlier and changes the findings itself. So Skip takes the place of Thaw: Skip does not
	// change the observed clock.
	leaveOut := u.e.opts.Ledger.Thaw
	if state.Running != nil && state.Running.Term == u.term.Number {
		base = state.Running.Due
		leaveOut = func(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) error {
			_, err := u.e.opts.Ledger.Skip(ctx, rule, scope, term, due, node, reason)
			return err
		}
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
	u.e.resumed.Event(func() {
		u.logger().Info("The rule runs again. Firings that were due while the rule was disabled are skipped.", "firings", len(frozen), "latest", latest)
	})
	return last, nil
}

// frozenFor returns the reason that the skipped run records.
func frozenFor(firings int) string {
	switch firings {
	case 1:
		return "disabled: a firing came due while the rule was disabled"
	case mostMissed:
		return fmt.Sprintf("disabled: %d firings or more came due while the rule was disabled", mostMissed)
	}
	return fmt.Sprintf("disabled: %d firings came due while the rule was disabled", firings)
}

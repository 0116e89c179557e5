package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/internal/retry"
	"tallyman/rules"
	"tallyman/scanners"
)

// unit is one enabled rule in one scope, with the loop that runs its firings one after the other.
type unit struct {
	e          *Engine
	rule       *rules.Rule
	log        *slog.Logger
	source     scanners.Source
	slots      slots      // of the source
	gate       *gate      // of the source
	group      *scanGroup // whose scans it shares; nil = it asks for itself
	expected   firingAt   // what the group has been told last
	scoped     *judge.ScopedRule
	made       time.Time
	madeIn     int64           // the clock term of made
	term       ledger.Term     // of the clock, which the plan is made for
	turned     <-chan struct{} // Closed when that term has ended.
	since      time.Time       // when this node took the rule up
	plan       firingPlan      // The loop alone uses plan and scoped.
	unrecorded []time.Time     // firings that were skipped, and that the ledger has not recorded
	unverified error           // why the rule is not verified; nil while it is
	cost       planCost
	status     unitStatus
	left       openFindings // by the last run of this node

	catchUpFrom time.Time       // Firings due before this time are skipped, because the rule was disabled or had another schedule.
	wasDisabled bool            // The skipped firings are recorded: the rule was disabled.
	handover    time.Duration   // Firings due so shortly before catchUpFrom are not recorded: a node that had the file earlier may be about to run them.
	stop        chan struct{}   // Closed when the rule is not to run any more.
	stopped     chan struct{}   // Closed when the unit's loop has returned.
	predecessor <-chan struct{} // Closed when the unit whose place this one takes has stopped; nil = there is none.
	abandoned   chan time.Time  // Due time of a firing that a dead node has left; see Engine.reclaim.
}

func newUnit(e *Engine, r *rules.Rule) (*unit, error) {
	scoped, err := judge.NewScopedRule(r, e.channels, e.kins.of(r))
	if err != nil {
		return nil, err
	}
	u := &unit{
		e: e, rule: r, made: e.opts.Clock.Now(),
		log:    e.opts.Logger.With("rule", r.ID, "scope", r.Scope),
		source: e.opts.Sources[r.Source],
		slots:  e.slots[r.Source],
		gate:   e.gates[r.Source],
		group:  e.scanGroups.of(r),
		scoped: scoped,
		plan: firingPlan{
			schedule: scoped.Schedule, jitter: r.Jitter(),
			overlap: r.Schedule.Overlap, catchUp: r.Schedule.CatchUp,
		},
		abandoned: make(chan time.Time, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	u.term, u.turned = e.opts.Terms.Term()
	u.madeIn = u.term.Number
	return u, nil
}

// loop runs the firings until stop is closed. ctx outlives stop by the grace that a running firing has.
func (u *unit) loop(ctx context.Context, stop <-chan struct{}) {
	idle, cancel := until(ctx, stop) // a source or ledger that hangs must not hold up the stop
	defer cancel()
	if !u.tellsFailures() && !u.getReady(idle, stop, time.Time{}) || !u.begin(idle, stop) {
		return
	}
	defer u.expect(time.Time{})
	failing := retry.New(100*time.Millisecond, 5*time.Second)
	for {
		if u.hasTurned() && !u.begin(idle, stop) {
			return
		}
		due := u.plan.due()
		u.status.setNext(due)
		u.expect(due)
		if u.tellsFailures() && u.unready() && !u.getReady(idle, stop, u.plan.start(due)) {
			return
		}
		left, ok := u.waitUntil(idle, stop, u.plan.start(due).Add(u.e.share.wait(u.shareKey())))
		if !ok || !u.getReady(idle, stop, u.now().Add(u.verifyWait())) {
			return
		}
		switch {
		case u.hasTurned():
			continue
		case !left.IsZero():
			due = left
		default:
			u.plan.late(u.now())
			due = u.plan.due()
		}
		u.expect(due)
		came := u.attempt(ctx, stop, due)
		u.expect(time.Time{})
		switch came {
		case settled:
			failing.Reset()
		case forgotten:
			if !u.begin(idle, stop) {
				return
			}
		case unsettled:
			if !pause(ctx, stop, failing.Next()) {
				return
			}
		case waiting:
			failing.Reset()
			if !pause(ctx, stop, askAgain) {
				return
			}
		case stopped:
			return
		}
	}
}

// begin reads where the rule stands and plans what was missed.
func (u *unit) begin(ctx context.Context, stop <-chan struct{}) bool {
	failing := retry.New(100*time.Millisecond, 5*time.Second)
	if u.since.IsZero() {
		u.since = u.now()
	}
	for {
		u.turn()
		state, err := u.e.opts.Ledger.Register(ctx, u.rule.ID, u.rule.Scope, u.term.Number, u.now())
		if err == nil {
			u.noteInitial(&state)
			var base time.Time
			if base, err = u.thaw(ctx, state, standing(state, u.term)); err == nil {
				u.plan.begin(base, u.now())
				u.status.setLeftOut(time.Time{})
				if u.plan.base.After(base) {
					u.status.setLeftOut(u.plan.base)
				}
				return true
			}
		}
		if ctx.Err() != nil {
			return false
		}
		u.log.Warn("the ledger cannot be asked where the rule stands", "error", err)
		if !pause(ctx, stop, failing.Next()) {
			return false
		}
	}
}

// turn takes up the clock term that is in force. What was disabled or had another schedule in an earlier one does not matter any more: the plan of a term
// begins with the term.
func (u *unit) turn() {
	before := u.term.Number
	u.term, u.turned = u.e.opts.Terms.Term()
	if u.term.Number != before {
		u.log.Info("a new clock term has begun: the ledger's clock went back; firings go on from there", "term", u.term.Number, "began", u.term.Began, "back", u.term.Back)
		u.catchUpFrom, u.wasDisabled, u.handover = time.Time{}, false, 0
	}
}

// hasTurned tells whether the clock term that the plan was made for has ended.
func (u *unit) hasTurned() bool {
	select {
	case <-u.turned:
		return true
	default:
		return false
	}
}

// waitUntil waits for the engine's clock to show at, for the end of the clock term, or for a firing that was left, whose due time it returns. It
// looks at the clock again every minute, because clocks are set and machines sleep.
func (u *unit) waitUntil(ctx context.Context, stop <-chan struct{}, at time.Time) (left time.Time, ok bool) {
	for told := false; ; {
		if base, now := u.plan.base, u.now(); !told && base.Sub(now) > time.Minute {
			u.log.Error("the last firing lies in the future: the clock of a node was or is wrong; the rule does not run until then", "due", base, "now", now)
			told = true
		}
		wait := max(min(u.e.opts.Clock.Real(at.Sub(u.now())), time.Minute), 0)
		timer := time.NewTimer(wait)
		select {
		case <-stop:
			timer.Stop()
			return time.Time{}, false
		case <-u.turned:
			timer.Stop()
			return time.Time{}, ctx.Err() == nil
		case left := <-u.abandoned:
			timer.Stop()
			return left, true
		case <-timer.C:
			if !u.now().Before(at) {
				return time.Time{}, ctx.Err() == nil
			}
		}
	}
}

func (u *unit) now() time.Time { return u.e.opts.Clock.Now() }

// askAgain is how long a firing that waits for the one before may wait for longer. Schedules have seconds: what comes due after that one has ended must not
// be late by one.
const askAgain = 500 * time.Millisecond

// progress is what came of an attempt to run a firing.
type progress uint8

const (
	settled   progress = iota + 1 // the plan has moved on
	unsettled                     // it could not be run now: plan anew and try again soon
	waiting                       // it waits for the one before to end
	forgotten                     // the ledger does not know the rule any more
	stopped                       // the engine stops
)

// attempt tries to run the firing and tells the plan what came of it.
func (u *unit) attempt(ctx context.Context, stop <-chan struct{}, due time.Time) progress {
	if u.skip(ctx, nil); len(u.unrecorded) > 0 {
		return unsettled
	}
	claim, err := u.claimAndFire(ctx, stop, due)
	switch {
	case err == nil && claim.Term != u.term.Number: // left by a dead node in an earlier clock term
		return settled
	case err == nil:
		u.plan.done(claim.Due)
		if !claim.Repeated { // nobody ran between the death of a node and the repetition
			u.skip(ctx, u.plan.overlapped(u.now()))
		}
		return settled
	case errors.Is(err, errStopping):
		return stopped
	case errors.Is(err, ledger.ErrDone):
		u.plan.done(due)
		return settled
	case errors.Is(err, ledger.ErrBusy):
		return u.busy(ctx, due)
	case errors.Is(err, errStale):
		u.log.Info("the types have changed: the firing begins anew", "due", due)
		return unsettled
	case errors.Is(err, ledger.ErrNotFound):
		u.log.Warn("the ledger has forgotten the rule: a node with other rule files has started; it is registered anew")
		return forgotten
	default:
		u.log.Warn("the firing could not be run and is tried again", "due", due, "error", err)
		return unsettled
	}
}

// busy is what becomes of the firing while another one is running, here or elsewhere. Where it is the very same,
// another node was faster: if that node dies, Engine.reclaim hears of it.
func (u *unit) busy(ctx context.Context, due time.Time) progress {
	state, err := u.e.opts.Ledger.Scope(ctx, u.rule.ID, u.rule.Scope)
	switch {
	case err != nil || state.Running == nil || u.regain(ctx, state.Running):
		return unsettled
	case state.Running.Term != u.term.Number:
		return waiting
	case !state.Running.Due.Before(due):
		u.plan.done(due)
		return settled
	}
	u.plan.done(state.Running.Due)
	skipped := u.plan.overlapped(u.now())
	u.skip(ctx, skipped)
	if len(skipped) == 0 {
		return waiting
	}
	return settled
}

// skip records the firings that came due while the one before still ran, where overlap says skip. They
// are one entry in the ledger, so that an operator sees that the rule is too slow for its schedule.
func (u *unit) skip(ctx context.Context, skipped []time.Time) {
	skipped = append(u.unrecorded, skipped...)
	u.unrecorded = nil
	if len(skipped) == 0 {
		return
	}
	latest := skipped[len(skipped)-1]
	reason := fmt.Sprintf("overlap: %d firings came due while the one before still ran", len(skipped))
	if len(skipped) == 1 {
		reason = "overlap: it came due while the firing before still ran"
	}
	u.log.Warn("firings skipped: the one before still ran", "skipped", len(skipped), "latest", latest)
	if err := u.e.opts.Ledger.Skip(ctx, u.rule.ID, u.rule.Scope, u.term.Number, latest, u.e.opts.Node, reason); err != nil {
		u.log.Warn("skipped firings could not be recorded; they are before the next firing begins", "error", err)
		u.unrecorded = skipped
		return
	}
	u.e.opts.Observer.RunDone(ledger.Run{
		Rule: u.rule.ID, Scope: u.rule.Scope, Term: u.term.Number, Due: latest, Node: u.e.opts.Node, Outcome: ledger.OutcomeSkipped, Error: reason,
	})
}

// live runs the unit's loop, once the unit whose place it takes has ended, until it is told to end.
func (u *unit) live(ctx context.Context) {
	defer close(u.stopped)
	if u.predecessor != nil {
		<-u.predecessor
	}
	select {
	case <-u.stop:
	default:
		u.loop(ctx, u.stop)
	}
}

func (u *unit) hasEnded() bool {
	select {
	case <-u.stopped:
		return true
	default:
		return false
	}
}

// means tells whether the unit runs that rule already. Of one that is not verified the places in the file count, too: its reason names them.
func (u *unit) means(r *rules.Rule) bool {
	return u.rule == r || r.Checksum != "" && u.rule.Checksum == r.Checksum && u.status.isVerified()
}

// handoverTime is how long after its start a firing may still be taken by a node that had the file of its rule earlier. Nodes look at their files every few seconds.
const handoverTime = 15 * time.Second

// takeOver says from when on the unit makes good what was missed. before is the unit that ran another version of its rule, if one did; free is
// when an operator's switch left the rule free; since is when the files have changed, zero where they have not.
func (u *unit) takeOver(before *unit, free, since time.Time) {
	switch {
	case before != nil:
		u.predecessor = before.stopped
		if before.rule.Schedule != u.rule.Schedule {
			u.catchUpFrom = since // what the new schedule would have had before was never due
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
	if u.catchUpFrom.IsZero() || u.catchUpFrom.After(u.now()) { // ahead of the clock it is of an earlier term
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

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

// unit is one enabled rule in one scope, whose firings run one after the other.
type unit struct {
	e          *Engine
	rule       *rules.Rule
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
	cost       *planCost       // nil = the rule has no probe.max_cost
	status     unitStatus
	left       openFindings // by the last run of this node

	catchUpFrom time.Time     // Firings due before this time are skipped, because the rule was disabled or had another schedule. It counts in the clock term madeIn alone.
	wasDisabled bool          // The skipped firings are recorded: the rule was disabled.
	handover    time.Duration // Firings due so shortly before catchUpFrom are not recorded: a node that had the file earlier may be about to run them.
	stop        chan struct{} // Closed when the rule is not to run any more.
	stopped     chan struct{} // Closed when the unit has ended.
	predecessor *unit         // This one begins after it has ended; nil = there is none. The timetable's lock guards it once the unit has started.
	begun       bool          // The plan was made once.
	place       waitingPlace  // in the timetable
}

func newUnit(e *Engine, r *rules.Rule) (*unit, error) {
	scoped, err := judge.NewScopedRule(r, e.channels, e.kins.of(r))
	if err != nil {
		return nil, err
	}
	group := r.ScanGroup()
	u := &unit{
		e: e, rule: r, made: e.opts.Clock.Now(),
		source: e.opts.Sources[r.Source],
		slots:  e.slots[r.Source],
		gate:   e.gates[r.Source],
		group:  e.scanGroups.of(r.ID, group),
		scoped: scoped,
		plan: firingPlan{
			schedule: scoped.Schedule, jitter: r.Jitter(group),
			overlap: r.Schedule.Overlap, catchUp: r.Schedule.CatchUp,
		},
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if r.Probe.MaxCost > 0 {
		u.cost = &planCost{}
	}
	u.status.since = u.made
	u.term, u.turned = e.opts.Terms.Term()
	u.madeIn = u.term.Number
	return u, nil
}

// work runs the firings that are to run now and returns when the next one begins, or false where the unit has ended. ctx outlives the unit's stop by the grace
// that a running firing has.
func (u *unit) work(ctx context.Context) (next time.Time, ok bool) {
	stop := u.stop
	if u.isTold() {
		return time.Time{}, false
	}
	idle, cancel := until(ctx, stop) // a source or ledger that hangs must not hold up the stop
	defer cancel()
	yields := !u.begun // Others in line go first, whatever is due.
	if yields && (!u.tellsFailures() && !u.getReady(idle, stop, time.Time{}) || !u.begin(idle)) {
		return time.Time{}, false
	}
	u.begun = true
	failing := retry.New(100*time.Millisecond, 5*time.Second)
	for {
		if u.hasTurned() && !u.begin(idle) {
			return time.Time{}, false
		}
		due := u.plan.due()
		u.status.setNext(due)
		u.expect(due)
		if u.tellsFailures() && u.unready() && !u.getReady(idle, stop, u.plan.start(due)) {
			return time.Time{}, false
		}
		left := u.e.timetable.takeLeft(u)
		// A unit that starts with a firing that is late, or has run one of several, waits for its turn like all: other units go on meanwhile.
		if at := u.plan.start(due).Add(u.e.share.wait(u.shareKey())); left.IsZero() && (yields || u.now().Before(at)) {
			u.warnOfFuture()
			return at, !u.isTold()
		}
		if u.scoped.Prepared == nil || u.rule.Probe.MaxCost > 0 {
			u.e.timetable.release(u) // others need not wait for the source's answer
		}
		if u.isTold() || !u.getReady(idle, stop, u.now().Add(u.verifyWait())) {
			return time.Time{}, false
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
			yields = true
		case forgotten:
			if !u.begin(idle) {
				return time.Time{}, false
			}
		case unsettled:
			if !u.pause(ctx, failing.Next()) {
				return time.Time{}, false
			}
		case waiting:
			failing.Reset()
			if !u.pause(ctx, askAgain) {
				return time.Time{}, false
			}
		case stopped:
			return time.Time{}, false
		}
	}
}

// pause is pause with the unit's stop. Others of its line go on meanwhile.
func (u *unit) pause(ctx context.Context, d time.Duration) bool {
	u.e.timetable.release(u)
	return pause(ctx, u.stop, d)
}

// warnOfFuture tells of a clock that is or was wrong.
func (u *unit) warnOfFuture() {
	if base, now := u.plan.base, u.now(); base.Sub(now) > time.Minute {
		u.logger().Error("the last firing lies in the future: the clock of a node was or is wrong; the rule does not run until then", "due", base, "now", now)
	}
}

// startLine is the line in which the unit waits for its start: a rule may have 100,000 scopes. Scopes of another source are in another line, since a source
// that hangs holds up the scopes that are verified on it. A unit that tells of its failed runs waits for nobody.
func (u *unit) startLine() lineID {
	if u.tellsFailures() {
		return lineID{}
	}
	return lineID{rule: u.rule.ID, source: u.rule.Source}
}

// dueLine is the line in which the unit waits when a firing is due. One that shares a scan or asks nothing waits for nobody.
func (u *unit) dueLine() lineID {
	if u.group != nil || u.unverified != nil {
		return lineID{}
	}
	return lineID{source: u.rule.Source}
}

// begin reads where the rule stands and plans what was missed.
func (u *unit) begin(ctx context.Context) bool {
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
		u.logger().Warn("the ledger cannot be asked where the rule stands", "error", err)
		if !u.pause(ctx, failing.Next()) {
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
		u.logger().Debug("a new clock term has begun: the ledger's clock went back; firings go on from there", "term", u.term.Number, "began", u.term.Began, "back", u.term.Back)
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

// logger names the rule and its scope. It is made when something is to be logged: a unit that waits has none.
func (u *unit) logger() *slog.Logger {
	return u.e.opts.Logger.With("rule", u.rule.ID, "scope", u.rule.Scope)
}

// isTold tells whether the unit is to end.
func (u *unit) isTold() bool {
	select {
	case <-u.stop:
		return true
	default:
		return false
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
		u.logger().Debug("the types have changed: the firing begins anew", "due", due)
		return unsettled
	case errors.Is(err, ledger.ErrNotFound):
		u.logger().Warn("the ledger has forgotten the rule: a node with other rule files has started; it is registered anew")
		return forgotten
	default:
		u.logger().Warn("the firing could not be run and is tried again", "due", due, "error", err)
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
	u.logger().Warn("firings skipped: the one before still ran", "skipped", len(skipped), "latest", latest)
	if err := u.e.opts.Ledger.Skip(ctx, u.rule.ID, u.rule.Scope, u.term.Number, latest, u.e.opts.Node, reason); err != nil {
		u.logger().Warn("skipped firings could not be recorded; they are before the next firing begins", "error", err)
		u.unrecorded = skipped
		return
	}
	u.e.opts.Observer.RunDone(ledger.Run{
		Rule: u.rule.ID, Scope: u.rule.Scope, Term: u.term.Number, Due: latest, Node: u.e.opts.Node, Outcome: ledger.OutcomeSkipped, Error: reason,
	})
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

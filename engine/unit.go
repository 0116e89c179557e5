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

// unit is one enabled rule in one scope. Its firings run one after the other.
type unit struct {
	e         *Engine
	rule      *rules.Rule
	source    scanners.Source
	slots     slots      // Bounds the runs that ask the source at a time.
	gate      *gate      // Bounds the firings that this node claims for the source.
	group     *scanGroup // The scopes that share a scan with this unit. Nil means the unit scans alone.
	expected  firingAt   // The firing that the unit last announced to its group.
	scoped    *judge.ScopedRule
	made      time.Time       // When newUnit made the unit.
	madeIn    int64           // The clock term of made.
	term      ledger.Term     // The clock term that the plan is made for.
	termEnded <-chan struct{} // Closed when that term has ended.
	// When this node began to run the rule. A pass deletes an old promotion only when demoteAfter has passed since
	// then.
	since      time.Time
	plan       firingPlan  // Only the loop uses plan and scoped. Others may read plan.schedule and plan.jitter.
	unrecorded []time.Time // Skipped firings that the ledger has not recorded yet.
	// The error of the last check of the rule; nil if the check succeeded. check sets it, for rules with on_error:
	// alert only.
	unverified error
	cost       *planCost // Nil means the rule has no probe.max_cost.
	status     unitStatus
	left       openFindings // The open findings that this node's last run left in the ledger.

	// Firings due before catchUpFrom are skipped, because the rule was disabled or had another schedule.
	// catchUpFrom counts in the clock term madeIn alone.
	catchUpFrom time.Time
	// wasDisabled tells that the rule was disabled before catchUpFrom. Then the ledger records the skipped firings.
	wasDisabled bool
	// Firings due in the handover time before catchUpFrom are not recorded as skipped. A node that read the file
	// earlier may be about to run these firings.
	handover time.Duration

	stop    chan struct{} // Closed when the rule must not run any more.
	stopped chan struct{} // Closed when the unit has ended.
	// The unit begins after its predecessor has ended. Nil means there is no predecessor. The timetable's lock guards
	// the field once the unit has started.
	predecessor *unit
	begun       bool         // The plan was made at least once.
	place       waitingPlace // Where the unit waits in the timetable.
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
	u.term, u.termEnded = e.opts.Terms.Term()
	u.madeIn = u.term.Number
	return u, nil
}

// work runs every firing that can start now. It returns the start of the next firing, or false where the unit has
// ended. ctx ends later than u.stop, so that a running firing can finish within the grace period.
func (u *unit) work(ctx context.Context) (next time.Time, ok bool) {
	stop := u.stop
	if u.isEnding() {
		return time.Time{}, false
	}
	idle, cancel := until(ctx, stop) // A source or a ledger that hangs must not delay the stop.
	defer cancel()
	yields := !u.begun // The unit returns to the timetable first, even when a firing is due.
	if yields && (!u.alertsOnError() && !u.getReady(idle, stop, time.Time{}) || !u.begin(idle)) {
		return time.Time{}, false
	}
	u.begun = true
	failing := retry.New(100*time.Millisecond, 5*time.Second)
	for {
		if u.termHasEnded() && !u.begin(idle) {
			return time.Time{}, false
		}
		due := u.plan.due()
		u.status.setNext(due)
		u.expect(due)
		if u.alertsOnError() && u.unready() && !u.getReady(idle, stop, u.plan.start(due)) {
			return time.Time{}, false
		}
		abandoned := u.e.timetable.takeAbandoned(u)
		// After its start and after each run the unit goes back to the timetable, even when the next firing is late.
		// Otherwise a unit with many late firings would keep its place while other units wait.
		if at := u.plan.start(due).Add(u.e.share.wait(u.shareKey())); abandoned.IsZero() && (yields || u.now().Before(at)) {
			u.warnOfFuture()
			return at, !u.isEnding()
		}
		if u.scoped.Prepared == nil || u.rule.Probe.MaxCost > 0 {
			u.e.timetable.release(u) // The next step may ask the source; other units need not wait for the answer.
		}
		if u.isEnding() || !u.getReady(idle, stop, u.now().Add(u.verifyWait())) {
			return time.Time{}, false
		}
		switch {
		case u.termHasEnded():
			continue
		case !abandoned.IsZero():
			due = abandoned
		default:
			u.plan.late(u.now())
			due = u.plan.due()
		}
		u.expect(due)
		result := u.attempt(ctx, stop, due)
		u.expect(time.Time{})
		switch result {
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

// pause gives up the unit's place in its line, so that other units go on, and then waits for d. pause returns false
// when the unit stops or ctx ends before d has passed.
func (u *unit) pause(ctx context.Context, d time.Duration) bool {
	u.e.timetable.release(u)
	return pause(ctx, u.stop, d)
}

// warnOfFuture logs an error when the last firing lies more than a minute ahead of now: a clock is or was wrong.
func (u *unit) warnOfFuture() {
	if base, now := u.plan.base, u.now(); base.Sub(now) > time.Minute {
		u.logger().Error("The rule's last firing is due in the future: the clock of a node was or is wrong. The rule does not run until then.", "due", base, "now", now)
	}
}

// startLine returns the line in which the unit waits for its start. A line is needed because a rule may have 100,000
// scopes. Each source has its own line: a source that hangs delays only the scopes that are verified on it. A rule with
// on_error: alert waits in no line, since it must report in time that it is not verified.
func (u *unit) startLine() lineID {
	if u.alertsOnError() {
		return lineID{}
	}
	return lineID{rule: u.rule.ID, source: u.rule.Source}
}

// dueLine returns the line in which the unit waits when a firing is due. A unit that shares a scan waits in no line,
// because the scan waits for its members. A unit that is not verified waits in no line either, because the unit does
// not ask the source.
func (u *unit) dueLine() lineID {
	if u.group != nil || u.unverified != nil {
		return lineID{}
	}
	return lineID{source: u.rule.Source}
}

// begin reads the rule's last firing from the ledger and makes the plan, missed firings included. It retries until the
// ledger answers, and returns false when ctx ends or the unit stops.
func (u *unit) begin(ctx context.Context) bool {
	failing := retry.New(100*time.Millisecond, 5*time.Second)
	if u.since.IsZero() {
		u.since = u.now()
	}
	for {
		u.takeTerm()
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
		u.logger().Warn("The ledger did not say which firing of the rule was the last. The rule waits; the node tries again soon.", "error", err)
		if !u.pause(ctx, failing.Next()) {
			return false
		}
	}
}

// takeTerm takes up the clock term that is in force. After a change of the term, thaw ignores catchUpFrom: the plan of
// the new term begins with the term.
func (u *unit) takeTerm() {
	before := u.term.Number
	u.term, u.termEnded = u.e.opts.Terms.Term()
	if u.term.Number != before {
		u.logger().Debug("A new clock term has begun, because the ledger's clock went back. Firings continue from the start of the term.", "term", u.term.Number, "began", u.term.Began, "back", u.term.Back)
	}
}

// termHasEnded tells whether the clock term that the plan was made for has ended.
func (u *unit) termHasEnded() bool {
	select {
	case <-u.termEnded:
		return true
	default:
		return false
	}
}

// logger returns a logger with the rule and its scope. Each call makes a new one: a node has up to 100,000 waiting
// units, and a logger in each would cost memory.
func (u *unit) logger() *slog.Logger {
	return u.e.opts.Logger.With("rule", u.rule.ID, "scope", u.rule.Scope)
}

// isEnding tells whether the unit must end: its stop channel is closed.
func (u *unit) isEnding() bool {
	select {
	case <-u.stop:
		return true
	default:
		return false
	}
}

func (u *unit) now() time.Time { return u.e.opts.Clock.Now() }

// While a firing waits for a running firing to end, the unit asks the ledger again after askAgain. Schedules have a
// resolution of a second, so a look every half second starts the next firing less than a second late.
const askAgain = 500 * time.Millisecond

// progress is the result of an attempt to run a firing.
type progress uint8

const (
	settled   progress = iota + 1 // The plan has moved on to a later firing.
	unsettled                     // The firing could not run now. The unit tries again soon.
	waiting                       // The firing waits for an earlier firing to end.
	forgotten                     // The ledger does not know the rule any more.
	stopped                       // The engine or the unit stops.
)

// attempt tries to run the firing and records the result in the plan.
func (u *unit) attempt(ctx context.Context, stop <-chan struct{}, due time.Time) progress {
	if u.skip(ctx, nil); len(u.unrecorded) > 0 {
		return unsettled
	}
	claim, err := u.claimAndFire(ctx, stop, due)
	switch {
	case err == nil && claim.Term != u.term.Number: // A dead node left this firing in an earlier clock term.
		return settled
	case err == nil:
		u.plan.done(claim.Due)
		if !claim.Repeated { // No firing ran between the death of a node and the repetition, so none was overlapped.
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
		u.logger().Debug("The notice types changed before the firing was committed. The firing begins again.", "due", due)
		return unsettled
	case errors.Is(err, ledger.ErrNotFound):
		u.logger().Warn("The ledger does not know the rule any more: a node with other rule files has started. This node registers the rule again.")
		return forgotten
	default:
		u.logger().Warn("The firing could not run. The node tries again soon.", "due", due, "error", err)
		return unsettled
	}
}

// busy decides about the firing while a firing of the rule is running, on this node or another. When the running firing
// is the same one, another node was faster. If that node dies, Engine.reclaim finds the firing.
func (u *unit) busy(ctx context.Context, due time.Time) progress {
	state, err := u.e.opts.Ledger.Scope(ctx, u.rule.ID, u.rule.Scope)
	switch {
	case err != nil:
		u.logger().Warn("The ledger did not say which firing of the rule runs. The node tries again soon.", "due", due, "error", err)
		return unsettled
	case state.Running == nil || u.regain(ctx, state.Running): // The running firing has ended, or begins again.
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

// skip records skipped firings: firings that came due while the firing before was still running. A rule with overlap:
// queue has none. skip records all of them as one run with outcome skipped. This run shows an operator that the rule is
// too slow for its schedule. skip also records the firings that an earlier call could not record.
func (u *unit) skip(ctx context.Context, skipped []time.Time) {
	skipped = append(u.unrecorded, skipped...)
	u.unrecorded = nil
	for first := true; len(skipped) > 0; first = false {
		latest, reason := skipped[len(skipped)-1], overlapReason(len(skipped))
		log := u.logger().With("skipped", len(skipped), "latest", latest)
		recorded, err := u.e.opts.Ledger.Skip(ctx, u.rule.ID, u.rule.Scope, u.term.Number, latest, u.e.opts.Node, reason)
		switch {
		case err != nil:
			log.Warn("Skipped firings were not recorded in the ledger. The node records them before the next firing begins.", "error", err)
			u.unrecorded = skipped
			return
		case recorded:
			log.Warn("Firings were skipped: the firing before was still running.")
			u.e.opts.Observer.RunDone(ledger.Run{
				Rule: u.rule.ID, Scope: u.rule.Scope, Term: u.term.Number, Due: latest, Node: u.e.opts.Node, Outcome: ledger.OutcomeSkipped, Error: reason,
			})
			return
		case !first: // The ledger is past all these firings.
			log.Info("Firings were skipped: the firing before was still running. Another node has recorded them already, or has run a later firing.")
			return
		}
		// Another node runs the latest firing, or has run or recorded it. The firings before may have no run.
		skipped = skipped[:len(skipped)-1]
	}
}

// overlapReason returns the reason that the skipped run records.
func overlapReason(firings int) string {
	if firings == 1 {
		return "overlap: 1 firing came due while the previous firing was still running"
	}
	return fmt.Sprintf("overlap: %d firings came due while the previous firing was still running", firings)
}

func (u *unit) hasEnded() bool {
	select {
	case <-u.stopped:
		return true
	default:
		return false
	}
}

// means tells whether the unit already runs that rule. A checksum leaves out the rule's place in its file. If the unit
// is not verified, an equal checksum is not enough, because the unit's reason names the place.
func (u *unit) means(r *rules.Rule) bool {
	return u.rule == r || r.Checksum != "" && u.rule.Checksum == r.Checksum && u.status.isVerified()
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tallyman/engine/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/rules/schedule"
	"tallyman/scanners"
)

// unit is one enabled rule in one scope, with the loop that runs its firings one after the other.
type unit struct {
	e       *Engine
	rule    *rules.Rule
	log     *slog.Logger
	source  scanners.Source
	slots   slots // of the source
	stmt    *probe.Statement
	targets []ledger.Target
	policy  finding.Policy
	plan    plan
	ready   ready // belongs to the loop
	status  unitStatus
}

func newUnit(e *Engine, r *rules.Rule, sourceSlots slots) (*unit, error) {
	sched, err := schedule.Parse(r.Schedule.Cron, r.Schedule.Timezone)
	if err != nil {
		return nil, fmt.Errorf("engine: rule %s: %w", r.ID, err)
	}
	stmt, faults := probe.Parse(r.Probe.SQL)
	if len(faults) > 0 {
		return nil, fmt.Errorf("engine: rule %s: %s: %s", r.ID, faults[0].Code, faults[0].Message)
	}
	return &unit{
		e: e, rule: r,
		log:     e.opts.Logger.With("rule", r.ID, "scope", r.Scope),
		source:  e.opts.Sources[r.Source],
		slots:   sourceSlots,
		stmt:    stmt,
		targets: e.opts.targets(r),
		policy: finding.Policy{
			For: r.For, KeepFiringFor: r.KeepFiringFor, RepeatInterval: r.RepeatInterval,
			Shortest: sched.Shortest(), KeepLast: r.NoData == rules.PolicyKeepLast,
		},
		plan: plan{
			schedule: sched, jitter: schedule.Jitter(r.ID, r.Scope, r.Schedule.Jitter),
			overlap: r.Schedule.Overlap, catchUp: r.Schedule.CatchUp,
		},
	}, nil
}

// loop runs the firings until stop is closed. ctx outlives stop by the grace that a running firing has.
func (u *unit) loop(ctx context.Context, stop <-chan struct{}) {
	if !u.getReady(ctx, stop) || !u.begin(ctx, stop) {
		return
	}
	failing := backoff{first: 100 * time.Millisecond, most: 5 * time.Second}
	for {
		due := u.plan.due()
		u.status.setNext(due)
		if !u.waitUntil(ctx, stop, u.plan.start(due)) || !u.getReady(ctx, stop) {
			return
		}
		u.plan.late(u.now())
		switch u.attempt(ctx, stop, u.plan.due()) {
		case settled:
			failing.reset()
		case unsettled:
			if !pause(ctx, stop, failing.wait()) {
				return
			}
		case stopped:
			return
		}
	}
}

// begin reads where the rule stands, takes over a firing that a dead node has left, and plans what was missed.
func (u *unit) begin(ctx context.Context, stop <-chan struct{}) bool {
	failing := backoff{first: 100 * time.Millisecond, most: 5 * time.Second}
	for {
		state, err := u.e.opts.Ledger.Register(ctx, u.rule.ID, u.rule.Scope, u.now())
		if err != nil {
			u.log.Warn("the ledger cannot be asked where the rule stands", "error", err)
		} else {
			last := state.LastDue
			if last.IsZero() {
				u.plan.begin(state.Registered, u.now())
				return true
			}
			// A firing that is done can be claimed only in place of an abandoned one.
			u.plan.base = last
			switch u.attempt(ctx, stop, last) {
			case settled:
				u.plan.begin(u.plan.base, u.now())
				return true
			case stopped:
				return false
			}
		}
		if !pause(ctx, stop, failing.wait()) {
			return false
		}
	}
}

// waitUntil waits for the engine's clock to show at. It looks at the clock again every minute, because clocks
// are set and machines sleep.
func (u *unit) waitUntil(ctx context.Context, stop <-chan struct{}, at time.Time) bool {
	for {
		left := at.Sub(u.now())
		if left <= 0 {
			select {
			case <-stop:
				return false
			default:
				return true
			}
		}
		if !pause(ctx, stop, min(u.e.opts.Clock.Real(left), time.Minute)) {
			return false
		}
	}
}

func (u *unit) now() time.Time { return u.e.opts.Clock.Now() }

// progress is what came of an attempt to run a firing.
type progress uint8

const (
	settled   progress = iota + 1 // the plan has moved on
	unsettled                     // the ledger did not answer, or the firing was lost: plan anew and try again
	stopped                       // the engine stops
)

// attempt tries to run the firing, or sees another node through with it, and tells the plan.
func (u *unit) attempt(ctx context.Context, stop <-chan struct{}, due time.Time) progress {
	target := due      // what is claimed: our firing, or the one that another node runs
	var busy time.Time // when that one was last seen running
	watching := backoff{first: 200 * time.Millisecond, most: u.e.opts.Lease / 3}
	for {
		claim, err := u.claimAndFire(ctx, stop, target)
		switch {
		case err == nil:
			u.plan.done(claim.Due)
			if !claim.Due.Before(due) { // else it was left by a dead node, and ours is still to be run
				u.skipOverlapped(ctx)
			}
			return settled
		case errors.Is(err, errStopping):
			return stopped
		case errors.Is(err, ledger.ErrDone):
			u.plan.done(target)
			if !busy.IsZero() {
				u.plan.overlapped(busy) // the node that ran it records what was skipped
			}
			return settled
		case errors.Is(err, ledger.ErrBusy):
			busy = u.now()
			target = u.running(ctx, due)
			if !pause(ctx, stop, watching.wait()) {
				return stopped
			}
		default:
			u.log.Warn("the firing could not be run and is tried again", "due", target, "error", err)
			return unsettled
		}
	}
}

// running returns the due time of the firing that another node runs. Claiming that one tells when it is
// done, and takes it over when its node dies.
func (u *unit) running(ctx context.Context, due time.Time) time.Time {
	state, err := u.e.opts.Ledger.Scope(ctx, u.rule.ID, u.rule.Scope)
	if err != nil || state.Running == nil {
		return due
	}
	return state.Running.Due
}

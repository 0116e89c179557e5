package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/scanners"
)

// How long what is known of a plan holds.
const (
	planHolds   = 24 * time.Hour     // a source is asked once a day, by whichever node comes first
	refusedPlan = 5 * time.Minute    // one that costs too much: somebody may be at work on it
	planFresh   = 5 * time.Minute    // then the ledger is asked whether another node knows better
	changedPlan = 7 * 24 * time.Hour // a change of plan is shown for so long
)

// planCost is what a unit knows of its probe's plan. It belongs to the loop.
type planCost struct {
	known bool
	plan  ledger.ProbePlan
	read  time.Time // from the ledger
}

// checkCost holds the probe's plan against probe.max_cost. What one node has learnt of the source counts for all, for a
// day.
func (u *unit) checkCost(ctx context.Context, stop <-chan struct{}) error {
	if u.rule.Probe.MaxCost == 0 {
		return nil
	}
	source, ok := u.source.(scanners.Explainer)
	if !ok {
		return u.scoped.CostUnknown()
	}
	now := u.now().UTC()
	if !u.cost.known || now.Sub(u.cost.read).Abs() >= planFresh {
		if err := u.recallPlan(ctx, now); err != nil {
			return err
		}
	}
	if !u.cost.known || now.Sub(u.cost.plan.Asked).Abs() >= u.planHolds() {
		if err := u.explain(ctx, stop, source, now); err != nil {
			return err
		}
	}
	u.status.setWarnings(u.planWarnings(now))
	return u.tooDear()
}

func (u *unit) planHolds() time.Duration {
	if u.tooDear() != nil {
		return refusedPlan
	}
	return planHolds
}

// tooDear is why the rule does not run, or nil.
func (u *unit) tooDear() error { return u.scoped.TooDear(u.cost.plan.Cost, u.cost.plan.Shape) }

// recallPlan reads what the ledger has of the plan, if it is of this very statement.
func (u *unit) recallPlan(ctx context.Context, now time.Time) error {
	plan, err := u.e.opts.Ledger.LastPlan(ctx, u.rule.ID, u.rule.Scope)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
	case err != nil:
		if u.cost.known {
			return nil // the ledger is out of reach; the claim will say so
		}
		return fmt.Errorf("the last plan cannot be read: %w", err)
	case plan.Checksum == u.checksum():
		u.cost.known, u.cost.plan = true, plan
	}
	u.cost.read = now
	return nil
}

// explain asks the source, and records what it says. A source that does not answer leaves what is known in force.
func (u *unit) explain(ctx context.Context, stop <-chan struct{}, source scanners.Explainer, now time.Time) error {
	asked, err := u.askPlan(ctx, stop, source, now)
	if err != nil {
		if !u.cost.known || errors.Is(err, errStopping) {
			return err
		}
		u.logger().Warn("the source does not say what the probe costs; what it said before counts", "error", err, "asked", u.cost.plan.Asked)
		u.cost.plan.Asked = now.Add(refusedPlan - planHolds) // of this node's memory: it asks again soon
		return nil
	}
	plan := ledger.ProbePlan{
		Rule: u.rule.ID, Scope: u.rule.Scope, Checksum: u.checksum(), Cost: asked.Cost, Shape: judge.Cut(asked.Shape, judge.LongError), Asked: now,
	}
	if u.cost.known {
		plan.Before = u.cost.plan.Before
		if old := u.cost.plan; old.Shape != plan.Shape {
			plan.Before = &ledger.PlanBefore{Cost: old.Cost, Shape: old.Shape, Until: now}
			u.logger().Warn("the source runs the probe by another plan", "plan", plan.Shape, "cost", plan.Cost, "was", old.Shape, "costed", old.Cost)
		}
	}
	u.cost.known, u.cost.plan = true, plan
	if err := u.e.opts.Ledger.RecordPlan(ctx, plan); err != nil {
		u.logger().Warn("the probe's plan could not be recorded", "error", err)
	}
	return nil
}

// askPlan puts the question as a run of now would put the statement.
func (u *unit) askPlan(ctx context.Context, stop <-chan struct{}, source scanners.Explainer, now time.Time) (scanners.Plan, error) {
	if !u.slots.acquire(stop) {
		return scanners.Plan{}, errStopping
	}
	defer u.slots.release()
	ctx, done := context.WithTimeout(ctx, judge.PrepareTimeout)
	defer done()
	state, err := u.e.opts.Ledger.Scope(ctx, u.rule.ID, u.rule.Scope)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		state = ledger.ScopeState{Registered: now}
	case err != nil:
		return scanners.Plan{}, fmt.Errorf("the state of the rule cannot be read: %w", err)
	}
	p := u.newPass(&ledger.Claim{Term: u.term.Number, Due: now}, now)
	return source.Explain(ctx, u.scoped.Statement, p.Args(p.Begin(state, nil, ledger.LookBack{})))
}

// checksum names what is asked: another statement, source or parameter makes another plan.
func (u *unit) checksum() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%v", u.rule.Source, u.rule.Probe.SQL, u.rule.Probe.Params))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// planWarnings tell of a plan that has changed lately.
func (u *unit) planWarnings(now time.Time) []string {
	was := u.cost.plan.Before
	if was == nil || now.Sub(was.Until) >= changedPlan {
		return nil
	}
	return []string{fmt.Sprintf("plan_changed: since %s the source runs the probe as %q (cost %s), before as %q (cost %s)",
		was.Until.Format(time.RFC3339), judge.InLine(u.cost.plan.Shape), judge.Number(u.cost.plan.Cost), judge.InLine(was.Shape), judge.Number(was.Cost))}
}

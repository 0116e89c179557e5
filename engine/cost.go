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

// How long the knowledge of a probe's plan lasts.
const (
	planHolds = 24 * time.Hour // The source is asked for a plan once a day, by the first node that needs it.
	// A plan that costs too much is asked for again soon: somebody may add an index meanwhile.
	refusedPlan = 5 * time.Minute
	// A plan read from the ledger is read again after this time: another node may have a newer one.
	planFresh   = 5 * time.Minute
	changedPlan = 7 * 24 * time.Hour // A change of plan is shown as a warning for this time.
)

// planCost is what a unit knows of its probe's plan. Only the unit's loop uses it.
type planCost struct {
	known bool
	plan  ledger.ProbePlan
	read  time.Time // When the plan was last read from the ledger.
}

// checkCost compares the cost of the probe's plan with probe.max_cost. The ledger shares a plan that one node has asked
// for with all nodes, for a day.
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

// tooDear returns why the rule's plan costs too much, or nil.
func (u *unit) tooDear() error { return u.scoped.TooDear(u.cost.plan.Cost, u.cost.plan.Shape) }

// recallPlan reads the plan from the ledger, and uses it if it belongs to the current statement.
func (u *unit) recallPlan(ctx context.Context, now time.Time) error {
	plan, err := u.e.opts.Ledger.LastPlan(ctx, u.rule.ID, u.rule.Scope)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
	case err != nil:
		if u.cost.known {
			return nil // The ledger is out of reach. The claim will report that.
		}
		return fmt.Errorf("the last plan cannot be read: %w", err)
	case plan.Checksum == u.checksum():
		u.cost.known, u.cost.plan = true, plan
	}
	u.cost.read = now
	return nil
}

// explain asks the source for the plan and records the answer. Where the source does not answer, the known plan stays
// in force.
func (u *unit) explain(ctx context.Context, stop <-chan struct{}, source scanners.Explainer, now time.Time) error {
	asked, err := u.askPlan(ctx, stop, source, now)
	if err != nil {
		if !u.cost.known || errors.Is(err, errStopping) {
			return err
		}
		u.logger().Warn("The source did not explain the probe's plan. The plan that it gave before counts; the node asks again soon.", "error", err, "asked", u.cost.plan.Asked)
		// The node asks again after refusedPlan. Only this node knows the changed time: it is not recorded.
		u.cost.plan.Asked = now.Add(refusedPlan - u.planHolds())
		return nil
	}
	plan := ledger.ProbePlan{
		Rule: u.rule.ID, Scope: u.rule.Scope, Checksum: u.checksum(), Cost: asked.Cost, Shape: judge.Cut(asked.Shape, judge.LongError), Asked: now,
	}
	if u.cost.known {
		plan.Before = u.cost.plan.Before
		if old := u.cost.plan; old.Shape != plan.Shape {
			plan.Before = &ledger.PlanBefore{Cost: old.Cost, Shape: old.Shape, Until: now}
			u.logger().Warn("The source now runs the probe with another plan.", "plan", plan.Shape, "cost", plan.Cost, "old_plan", old.Shape, "old_cost", old.Cost)
		}
	}
	u.cost.known, u.cost.plan = true, plan
	if err := u.e.opts.Ledger.RecordPlan(ctx, plan); err != nil {
		u.logger().Warn("The probe's plan was not recorded in the ledger. Other nodes ask the source themselves.", "error", err)
	}
	return nil
}

// askPlan asks the source for the plan of the statement, with the parameters that a run would have now.
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

// checksum identifies the statement, its source and its parameters. A recorded plan with another checksum does not
// count.
func (u *unit) checksum() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%v", u.rule.Source, u.rule.Probe.SQL, u.rule.Probe.Params))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// planWarnings returns a warning if the plan has changed less than changedPlan ago.
func (u *unit) planWarnings(now time.Time) []string {
	was := u.cost.plan.Before
	if was == nil || now.Sub(was.Until) >= changedPlan {
		return nil
	}
	return []string{fmt.Sprintf("plan_changed: since %s the source runs the probe as %q (cost %s), before as %q (cost %s)",
		was.Until.Format(time.RFC3339), judge.InLine(u.cost.plan.Shape), judge.Number(u.cost.plan.Cost), judge.InLine(was.Shape), judge.Number(was.Cost))}
}

package engine

import (
	"context"
	"time"

	"tallyman/internal/ledger"
	"tallyman/scanners"
)

// Plan asks the source how it would run the probe at due. ok is false where its database does not say. The error is that of a node
// which holds the plan against probe.max_cost: of a rule that would not run.
func (t *Trial) Plan(ctx context.Context, due time.Time) (plan scanners.Plan, ok bool, err error) {
	source, ok := t.tap.Source.(scanners.Explainer)
	if !ok {
		if t.unit.rule.Probe.MaxCost > 0 {
			err = t.unit.costUnknown()
		}
		return scanners.Plan{}, false, err
	}
	plan, err = t.unit.askPlan(ctx, nil, source, due)
	if err != nil || t.unit.rule.Probe.MaxCost == 0 {
		return plan, err == nil, err
	}
	t.unit.cost.plan = ledger.ProbePlan{Cost: plan.Cost, Shape: plan.Shape}
	return plan, true, t.unit.tooDear()
}

package engine

import (
	"context"
	"time"

	"tallyman/scanners"
)

// Cost asks the source for the probe's plan as of now, without running it; the plan is nil where the source knows none. The error says
// why the rule would not run: its text begins with the code.
func (t *Trial) Cost(ctx context.Context, now time.Time) (*scanners.Plan, error) {
	source, ok := t.tap.Source.(scanners.Explainer)
	if !ok {
		if t.unit.rule.Probe.MaxCost == 0 {
			return nil, nil
		}
		return nil, t.unit.costUnknown()
	}
	plan, err := t.unit.askPlan(ctx, nil, source, now)
	if err != nil {
		return nil, err
	}
	if t.unit.rule.Probe.MaxCost == 0 {
		return &plan, nil
	}
	t.unit.cost.plan.Cost, t.unit.cost.plan.Shape = plan.Cost, plan.Shape
	return &plan, t.unit.tooDear()
}

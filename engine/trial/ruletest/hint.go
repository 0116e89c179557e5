package ruletest

import (
	"fmt"

	"tallyman/rules"
	"tallyman/rules/schedule"
)

// hurry explains the commonest surprise: a span between two runs counts towards `for` with the schedule's shortest interval at most, so
// one step of ten minutes is not ten minutes of a rule that runs every five.
func hurry(r *rules.Rule, t *Test, at *Step) []string {
	if r.For == 0 && r.KeepFiringFor == 0 {
		return nil
	}
	s, err := schedule.Parse(r.Schedule.Cron, r.Schedule.Timezone)
	if err != nil {
		return nil
	}
	for i, step := range t.Steps {
		if i == 0 {
			continue
		}
		if gap := step.At - t.Steps[i-1].At; gap > s.Shortest() {
			return []string{fmt.Sprintf("  the rule runs every %s, so that %s between two steps count as %s for `for` and keep_firing_for",
				short(s.Shortest()), short(gap), short(s.Shortest()))}
		}
		if step == at {
			return nil
		}
	}
	return nil
}

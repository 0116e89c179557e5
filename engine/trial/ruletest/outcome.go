package ruletest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/rules"
)

// The health of a run.
const (
	healthOK       = "ok"
	healthDegraded = "degraded" // a row could not be judged, or a key came twice
	healthError    = "error"    // the run failed
	healthNoData   = "no_data"  // no row at all, and the rule says that this is no good news
)

// outcome is what a step came to.
type outcome struct {
	run     ledger.Run
	health  string
	notices []map[string]any // as in JSON, with their sinks, and how they go there
}

func outcomeOf(rule *rules.Rule, run *trial.Run) (*outcome, error) {
	o := &outcome{run: run.Run, health: healthOK}
	switch {
	case run.Run.Outcome == ledger.OutcomeFailed:
		o.health = healthError
	case run.Run.Outcome == ledger.OutcomeDegraded:
		o.health = healthDegraded
	case run.Run.Rows == 0 && rule.Mode == rules.ModeState && rule.NoData != rules.PolicyOK:
		o.health = healthNoData
	}
	for _, c := range run.Commits {
		for _, n := range c.Notices {
			text, err := json.Marshal(n.Notice)
			if err != nil {
				return nil, fmt.Errorf("ruletest: a notice as JSON: %w", err)
			}
			fields := map[string]any{}
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			if err := d.Decode(&fields); err != nil {
				return nil, fmt.Errorf("ruletest: a notice as JSON: %w", err)
			}
			sinks := make([]any, len(n.Sinks))
			for i, target := range n.Sinks {
				sinks[i] = target.Sink
			}
			fields["sinks"], fields["deliver"] = sinks, deliverOf(n.Sinks)
			o.notices = append(o.notices, fields)
		}
	}
	return o, nil
}

// context says of the run what explains the rest.
func (o *outcome) context() []string {
	var lines []string
	if o.run.Error != "" {
		lines = append(lines, "  the run failed: "+o.run.Error)
	}
	for _, s := range o.run.Samples {
		lines = append(lines, "  degraded: "+s)
	}
	return lines
}

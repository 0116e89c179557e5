package judge

import (
	"strings"
	"time"

	"tallyman/internal/silence"
	"tallyman/rules"
)

// Silencer knows the silences that are in force.
type Silencer interface {
	// Holding returns the silences that are active at the time and about the subject, the one that lasts longest first.
	Holding(at time.Time, about *silence.Subject) []silence.Holding
}

// mostSilences is how many of the silences that hold a finding back are recorded with it.
const mostSilences = 10

// silenced names the silences that hold back what is about to be told, separated by spaces; "" = none does. Whether one is active is
// decided by the engine's clock when the run began. A rule in shadow disturbs nobody, so that nothing silences it.
func (p *Pass) silenced(d *rules.NoticeDraft) string {
	if p.shadow {
		return ""
	}
	holding := p.Silencer.Holding(p.Started, Subject(p.Rule, d.Type.Code, d.Warehouse))
	ids := make([]string, min(len(holding), mostSilences))
	for i := range ids {
		ids[i] = holding[i].ID
	}
	return strings.Join(ids, " ")
}

// Subject is what silences are asked about: a notice of that type of the rule, in the warehouse.
func Subject(r *rules.Rule, typ, warehouse string) *silence.Subject {
	return &silence.Subject{Rule: r.ID, Type: typ, Warehouse: warehouse, Scope: r.Scope, Labels: r.Labels}
}

// silenced counts the events that each silence has dropped.
func (r *Result) silenced() map[string]int {
	var counts map[string]int
	for _, e := range r.events {
		for id := range strings.FieldsSeq(e.by) {
			if counts == nil {
				counts = map[string]int{}
			}
			counts[id]++
		}
	}
	return counts
}

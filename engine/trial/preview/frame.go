package preview

import (
	"fmt"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
)

// frame is the report without what the run has shown.
func frame(req *Request, state ledger.ScopeState, from string, findings []finding.State) *Report {
	r := req.Rule
	rep := &Report{
		Rule: r.ID, Title: r.Title, Scope: r.Scope, Source: req.Name, Mode: string(r.Mode), Due: req.Due.UTC(), Timezone: r.Schedule.Timezone,
		Enabled: r.Enabled, Shadow: r.Shadow && state.Promoted.IsZero(),
		Start:   Start{From: from, LastRun: moment(state.LastDue)},
		Columns: []Column{}, Rows: []Row{}, Findings: []Finding{}, Notices: []Notice{}, Later: []Notice{}, Notes: []string{},
	}
	if from == FromNone {
		rep.Start.Reason = req.NoLedger
	}
	for _, f := range findings {
		if f.Phase == finding.Pending {
			rep.Start.Pending++
		} else {
			rep.Start.Firing++
		}
	}
	return rep
}

// watermark tells from where to where a run of mode event has read.
func (v *view) watermark(before ledger.ScopeState) {
	w := v.req.Rule.Probe.Watermark
	if w == nil {
		return
	}
	from := before.Watermark
	if len(from) != len(w.Columns) {
		from = v.trial.Program().InitialWatermark(v.req.Due)
	}
	to := from
	for _, c := range v.run.Commits {
		if c.Watermark != nil {
			to = c.Watermark
		}
	}
	v.report.Watermark = &Watermark{Columns: w.Columns, Before: values(from), After: values(to), Until: v.req.Due.Add(-w.Lag).UTC()}
}

// notes says what must not be overlooked.
func (v *view) notes(before ledger.ScopeState) {
	r := v.req.Rule
	if !r.Enabled {
		v.note("the rule is disabled: a node does not run it")
	}
	if v.report.Shadow {
		v.note("the rule is in shadow: a node keeps its state, and delivers to the inbox of %s only", judge.ShadowSubscriber(r.ID))
	}
	if !before.LastDue.IsZero() && v.req.Due.Before(before.LastDue) {
		v.note("the ledger's last run of the rule was at %s, after the time that is shown here: the findings are those after it",
			before.LastDue.UTC().Format(time.RFC3339))
	}
	if r.Mode == rules.ModeEvent && r.Probe.Watermark == nil {
		v.note("the rule has no watermark: every run tells every row anew")
	}
}

func (v *view) note(format string, args ...any) {
	v.report.Notes = append(v.report.Notes, fmt.Sprintf(format, args...))
}

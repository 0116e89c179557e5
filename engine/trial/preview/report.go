package preview

import (
	"fmt"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
)

// Report is what a rule would do in one scope, for people and programs. Times are in UTC.
type Report struct {
	Rule     string    `json:"rule"`
	Title    string    `json:"title,omitempty"`
	Scope    string    `json:"scope"`
	Source   string    `json:"source"`
	Mode     string    `json:"mode"`
	Due      time.Time `json:"due"`
	Timezone string    `json:"timezone"` // The timezone of the rule.
	Enabled  bool      `json:"enabled"`
	Shadow   bool      `json:"shadow"` // The rule is in shadow and delivers only to its own inbox.
	Start    Start     `json:"start"`

	Outcome string `json:"outcome"` // ok, degraded or failed, as for a run.
	Error   string `json:"error,omitempty"`
	TookMS  int64  `json:"tookMs"` // The time of the probe and the judgement.
	Counts  Counts `json:"counts"`

	Plan      *Plan      `json:"plan,omitempty"` // Nil where the database does not explain plans.
	Columns   []Column   `json:"columns"`
	Watermark *Watermark `json:"watermark,omitempty"`
	Rows      []Row      `json:"rows"`     // In the order of the probe. See LeftOut for rows that are not listed.
	Result    *Judgement `json:"result"`   // For per: result. Nil where each row is judged.
	Findings  []Finding  `json:"findings"` // Findings that no row belongs to, and findings about the rule itself.
	Notices   []Notice   `json:"notices"`
	Later     []Notice   `json:"later"` // Notices of pending findings, if the findings last. Without id and episode.
	LeftOut   LeftOut    `json:"leftOut"`
	Notes     []string   `json:"notes"` // Facts that a reader must not overlook.
}

// The values of Start.From.
const (
	FromLedger = "ledger"    // The run begins with the ledger's state of the rule.
	FromNew    = "new"       // The ledger does not know the rule: this would be its first run.
	FromNone   = "no_ledger" // No ledger is in reach: the run is tried as the rule's first.
)

// Start is the state with which the run begins.
type Start struct {
	From    string     `json:"from"`
	Reason  string     `json:"reason,omitempty"` // Why there is no ledger.
	LastRun *time.Time `json:"lastRun,omitempty"`
	Pending int        `json:"pending"`
	Firing  int        `json:"firing"`
}

// Counts are the counts of the run; see ledger.Run.
type Counts struct {
	Rows    int `json:"rows"`
	Matched int `json:"matched"`
	Errored int `json:"errored"`
	Pending int `json:"pending"` // The number after the run.
	Firing  int `json:"firing"`  // The number after the run.
	Notices int `json:"notices"`
}

// LeftOut is how many entries each list leaves out because of Request.Limit.
type LeftOut struct {
	Rows     int `json:"rows"`
	Findings int `json:"findings"`
	Notices  int `json:"notices"`
	Later    int `json:"later"`
}

// Plan is how the database runs the probe.
type Plan struct {
	Cost    float64 `json:"cost"` // In the database's own unit.
	Shape   string  `json:"shape"`
	MaxCost int     `json:"maxCost,omitempty"` // The rule's probe.max_cost.
}

// Column is a column of the probe.
type Column struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	DBType string `json:"dbType,omitempty"`
}

// Watermark is where a run of mode event begins and ends.
type Watermark struct {
	Columns []string  `json:"columns"`
	Before  []*string `json:"before"`
	After   []*string `json:"after"`
	Until   time.Time `json:"until"`
}

// Row is one row of the probe.
type Row struct {
	Number int       `json:"number"` // Counts from 1, in the order of the probe.
	Values []*string `json:"values"` // One for each column. Nil is NULL.
	Judgement
}

// Judgement is the outcome of the condition, and what happens to the finding.
type Judgement struct {
	Match   bool     `json:"match"`
	Because []string `json:"because,omitempty"` // The parts of the condition that were not true.
	Error   string   `json:"error,omitempty"`   // Why the row cannot be judged, or why its notice cannot be written.
	Key     string   `json:"key,omitempty"`
	Life
}

// Life is what the run does to a finding.
type Life struct {
	Fate  Fate       `json:"fate,omitempty"`
	Since *time.Time `json:"since,omitempty"` // When a pending finding was first seen, or when a firing one fired.
	// pends: when it fires. kept: when it resolves. goes_on: when its next notice is due.
	Next   *time.Time `json:"next,omitempty"`
	Notice string     `json:"notice,omitempty"` // The id of the finding's notice.
	In     string     `json:"in,omitempty"`     // group or digest, where the notice is about other findings as well.
}

// Finding is a finding that no row belongs to.
type Finding struct {
	Key string `json:"key"`
	Life
}

// Notice is a notice that the run would make.
type Notice struct {
	notice.Form
	Texts map[string]Text `json:"texts,omitempty"` // Translations, keyed by language.
	// The ledger has the notice of this event already and does not send it again.
	Known bool `json:"known"`
	// Silenced names the silence that would withhold the notice, and its end.
	Silenced string        `json:"silenced,omitempty"`
	To       []Destination `json:"to"`
}

// Text is a notice in another language.
type Text struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// Destination is a sink that would get the notice.
type Destination struct {
	Sink     string `json:"sink"`
	Type     string `json:"type"`
	Strategy string `json:"strategy,omitempty"` // Of a push channel.
	How      string `json:"how,omitempty"`      // The strategy in words, such as "after 10m unless read".
	// Of the inbox, or of a channel with a delivery for each recipient.
	Recipients []string `json:"recipients,omitempty"`
	Note       string   `json:"note,omitempty"` // A condition of the delivery, or why nobody gets it.
}

// frame returns the report without the results of the run.
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

// watermark adds the positions at which a run of mode event began and ended.
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

// notes adds the notes that follow from the rule and its state.
func (v *view) notes(before ledger.ScopeState) {
	r := v.req.Rule
	if !r.Enabled {
		v.note("the rule is disabled: a node does not run it")
	}
	if v.report.Shadow {
		v.note("the rule is in shadow: a node keeps its state, and delivers to the inbox of %s only", judge.ShadowSubscriber(r.ID))
	}
	if v.isBaseline() {
		v.note("first_run: baseline: this is the first run: its rows count as known, and it sends no notices of these rows")
	}
	if !before.LastDue.IsZero() && v.req.Due.Before(before.LastDue) {
		v.note("the ledger's last run of the rule was at %s, later than the due time of this preview: the preview begins with the findings after that last run",
			before.LastDue.UTC().Format(time.RFC3339))
	}
	if r.Mode == rules.ModeEvent && r.Probe.Watermark == nil {
		v.note("the rule has no watermark: every run makes a notice of every row again")
	}
}

// isBaseline tells whether this is the first run of a rule with first_run: baseline.
func (v *view) isBaseline() bool {
	return v.req.Rule.FirstRun == rules.FirstRunBaseline && v.start.State.IsFirst()
}

func (v *view) note(format string, args ...any) {
	v.report.Notes = append(v.report.Notes, fmt.Sprintf(format, args...))
}

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
	Timezone string    `json:"timezone"` // the rule's
	Enabled  bool      `json:"enabled"`
	Shadow   bool      `json:"shadow"` // it delivers to its own inbox only
	// Start is what the run builds on.
	Start Start `json:"start"`

	Outcome string `json:"outcome"` // ok, degraded or failed, as of a run
	Error   string `json:"error,omitempty"`
	TookMS  int64  `json:"tookMs"` // the probe and the judgement
	Counts  Counts `json:"counts"`

	Plan      *Plan      `json:"plan,omitempty"` // where the database says it
	Columns   []Column   `json:"columns"`
	Watermark *Watermark `json:"watermark,omitempty"`
	Rows      []Row      `json:"rows"`     // those that met the condition or could not be judged before the others
	Result    *Judgement `json:"result"`   // per: result; null where each row is judged
	Findings  []Finding  `json:"findings"` // known ones that no row shows any more, and those of the rule itself
	Notices   []Notice   `json:"notices"`
	Later     []Notice   `json:"later"` // what pending findings would be told as if they last, as of now; without id and episode
	LeftOut   LeftOut    `json:"leftOut"`
	Notes     []string   `json:"notes"` // what must not be overlooked
}

// The values of Start.From.
const (
	FromLedger = "ledger"    // the state that the ledger has of the rule
	FromNew    = "new"       // the ledger does not know the rule: this would be its first run
	FromNone   = "no_ledger" // no ledger is in reach: as if the rule ran for the first time
)

// Start is what the run builds on.
type Start struct {
	From    string     `json:"from"`
	Reason  string     `json:"reason,omitempty"` // why there is no ledger
	LastRun *time.Time `json:"lastRun,omitempty"`
	Pending int        `json:"pending"`
	Firing  int        `json:"firing"`
}

// Counts are those of the run; see ledger.Run.
type Counts struct {
	Rows    int `json:"rows"`
	Matched int `json:"matched"`
	Errored int `json:"errored"`
	Pending int `json:"pending"` // after the run
	Firing  int `json:"firing"`
	Notices int `json:"notices"`
}

// LeftOut is how many entries a list does not show.
type LeftOut struct {
	Rows     int `json:"rows"`
	Findings int `json:"findings"`
	Notices  int `json:"notices"`
	Later    int `json:"later"`
}

// Plan is how the database runs the probe.
type Plan struct {
	Cost    float64 `json:"cost"` // in the database's own unit
	Shape   string  `json:"shape"`
	MaxCost int     `json:"maxCost,omitempty"` // what the rule allows
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
	Number int       `json:"number"` // from 1, in the order of the probe
	Values []*string `json:"values"` // by column; null is NULL
	Judgement
}

// Judgement is what the condition says, and what becomes of the finding.
type Judgement struct {
	Match   bool     `json:"match"`
	Because []string `json:"because,omitempty"` // the parts of the condition that were not true
	Error   string   `json:"error,omitempty"`   // why it cannot be judged, or would not be told
	Key     string   `json:"key,omitempty"`
	Life
}

// Life is what the run makes of a finding.
type Life struct {
	Fate   Fate       `json:"fate,omitempty"`
	Since  *time.Time `json:"since,omitempty"`  // of pending: seen first; of firing: fired
	Next   *time.Time `json:"next,omitempty"`   // pends: when it fires; kept: when it resolves; goes_on: when it is told again
	Notice string     `json:"notice,omitempty"` // id of the notice that tells it
	In     string     `json:"in,omitempty"`     // group or digest, where that notice tells others too
}

// Finding is one that no row shows.
type Finding struct {
	Key string `json:"key"`
	Life
}

// Notice is a notice that the run would make.
type Notice struct {
	notice.Form
	Texts map[string]Text `json:"texts,omitempty"` // translations by language
	Known bool            `json:"known"`           // an event that the ledger has already: it is not told again
	// Silenced says which silence would hold it back, and until when.
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
	Sink       string   `json:"sink"`
	Type       string   `json:"type"`
	Strategy   string   `json:"strategy,omitempty"`   // of a push channel
	How        string   `json:"how,omitempty"`        // of a push channel, in words: after 10m unless read
	Recipients []string `json:"recipients,omitempty"` // of an inbox; of a channel with a delivery for each, as far as they have an address
	Note       string   `json:"note,omitempty"`       // why nobody gets it, or who else
}

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
	if v.isBaseline() {
		v.note("first_run: baseline: this is the first run, which takes the rows that it sees as known and tells nothing of them")
	}
	if !before.LastDue.IsZero() && v.req.Due.Before(before.LastDue) {
		v.note("the ledger's last run of the rule was at %s, after the time that is shown here: the findings are those after it",
			before.LastDue.UTC().Format(time.RFC3339))
	}
	if r.Mode == rules.ModeEvent && r.Probe.Watermark == nil {
		v.note("the rule has no watermark: every run tells every row anew")
	}
}

// isBaseline tells whether the run is the first of a rule with first_run: baseline.
func (v *view) isBaseline() bool {
	return v.req.Rule.FirstRun == rules.FirstRunBaseline && v.start.State.IsFirst()
}

func (v *view) note(format string, args ...any) {
	v.report.Notes = append(v.report.Notes, fmt.Sprintf(format, args...))
}

package rules

import (
	"strconv"
	"time"

	"tallyman/rules/deliver"
)

// Mode says what the absence of a row means.
type Mode string

// The modes.
const (
	ModeState Mode = "state" // an absent row resolves its finding
	ModeEvent Mode = "event" // every new row is one notice; nothing resolves
)

// Overlap says what happens to a firing that comes due while the one before it still runs.
type Overlap string

// The overlap policies.
const (
	OverlapSkip  Overlap = "skip"
	OverlapQueue Overlap = "queue" // one waits
)

// CatchUp says which firings are made good that came due while no node ran.
type CatchUp string

// The catch-up policies.
const (
	CatchUpNone CatchUp = "none"
	CatchUpOnce CatchUp = "once" // the latest missed one
	CatchUpAll  CatchUp = "all"  // each, at most 100
)

// Policy says what a run without data, or one that failed, does to the findings.
type Policy string

// The policies. PolicyOK is for no_data only.
const (
	PolicyOK       Policy = "ok"
	PolicyKeepLast Policy = "keep_last"
	PolicyAlert    Policy = "alert"
)

// FirstRun says what the first run makes of the rows that it sees.
type FirstRun string

// The first runs.
const (
	FirstRunNotify   FirstRun = "notify"   // they are told
	FirstRunBaseline FirstRun = "baseline" // they are known, and nothing is told of them
)

// Per says what becomes a finding.
type Per string

// The values of per.
const (
	PerRow    Per = "row"    // each row that meets the condition
	PerResult Per = "result" // the result as a whole; the condition sees `rows` and `row_count`
)

// Limit bounds the notices of one run. What goes beyond it is told by a digest, never dropped.
type Limit struct {
	Notices int // the first in the order of their keys are notices of their own; 0 = no limit
}

// Modal says how a WMS client shows a notice.
type Modal string

// The modals.
const (
	ModalSilent Modal = "silent"
	ModalPopup  Modal = "popup"
)

// Rule is one rule in one scope, with defaults and the scope's overrides applied: what the engine
// runs. A rule with n scopes in the file is n Rules of the same ID.
type Rule struct {
	ID             string
	Scope          string // "" where the rule has no scopes
	Title          string
	Description    string
	Owner          string
	RunbookURL     string
	Labels         map[string]string // of this scope
	OwnLabels      map[string]string // of the rule, without what scopes override
	Enabled        bool
	Mode           Mode
	Shadow         bool // delivers to an inbox of its own until it is promoted
	Schedule       Schedule
	Source         string
	Probe          Probe
	Per            Per
	When           string   // expr; "true" by default
	Key            []string // columns; nil with per: result
	GroupBy        []string // columns; nil = a notice for each finding
	For            time.Duration
	KeepFiringFor  time.Duration
	RepeatInterval time.Duration // 0 = never
	NotifyAgainOn  []string      `json:",omitempty"` // columns; nil = none
	FirstRun       FirstRun
	NoData         Policy
	OnError        Policy
	Unjudged       Unjudged // from how many rows that cannot be judged on OnError: alert tells; zero = from one
	Limit          Limit
	Notice         Notice
	Deliver        []deliver.Entry // nil = as the type says
	SplitBy        string          `json:",omitempty"` // column; "" = the probe runs for each scope
	Scopes         *ScopeQuery     `json:",omitempty"` // nil = the file has the scopes, or there are none
	Placeholder    Placeholder     `json:",omitempty"` // "" = it is a rule in a scope

	File     string // where it was read from
	Checksum string // of everything above; changes when the rule's meaning does

	// Kin is the same for the scopes of a rule that differ in their names and parameters alone: they have one time zone, and no overrides of their own. "" of a rule
	// that shares nothing: without scopes, or with a single one in its file.
	Kin string `json:"-"`

	origin origin // where each field stands in File, for problems found after decoding
}

// Schedule says when a rule fires.
type Schedule struct {
	Cron     string
	Timezone string // IANA name; UTC by default
	Jitter   time.Duration
	Overlap  Overlap
	CatchUp  CatchUp
}

// Unjudged is how many rows of a run that cannot be judged or told are told of: from a share of the rows on, or from a number. The zero value is one.
type Unjudged struct {
	Percent int // from 1 to 100; 0 = Rows counts
	Rows    int
}

// Reached tells whether so many of the rows are enough.
func (u Unjudged) Reached(unjudged, rows int) bool {
	if u.Percent > 0 {
		return unjudged > 0 && unjudged*100 >= u.Percent*rows
	}
	return unjudged >= max(u.Rows, 1)
}

// String is the limit as a rule file writes it; "" of the zero value.
func (u Unjudged) String() string {
	switch {
	case u.Percent > 0:
		return strconv.Itoa(u.Percent) + "%"
	case u.Rows > 0:
		return strconv.Itoa(u.Rows)
	}
	return ""
}

// Probe is the question that a rule asks its source.
type Probe struct {
	SQL       string
	Params    map[string]any // string, int64, float64, bool or nil; the scope's params win
	Timeout   time.Duration
	MaxRows   int
	MaxCost   int               // total cost by the database's plan above which the rule does not run; 0 = any
	Columns   map[string]Column `json:",omitempty"` // by name: what the database does not say of them
	Watermark *Watermark        // mode event only
}

// Watermark lets a probe of mode event see each row once.
type Watermark struct {
	Columns []string
	Initial map[string]any // per column; for a time column a duration before now, as "-1h"
	Lag     time.Duration  // :until is scheduled_at less this
	// LookBack is what each run reads again; nil = the default. Ask LooksBack.
	LookBack *LookBack `json:",omitempty"`
}

// Notice says what a finding is told as. Texts are by language; the key "" is the text without one.
type Notice struct {
	Type         string
	Warehouse    string            // expr, or "" for the scope's name
	Priority     string            // expr; "" = that of the type, or 3
	Order        string            `json:",omitempty"` // expr; "" = none
	Modal        Modal             // "" = as the type says, or silent
	Title        map[string]string // templates; nil = those of the type, as of Body
	Body         map[string]string
	Fields       map[string]string // field name → expr; nil = the columns that the type names
	Expires      time.Duration     // 0 = the type's retention
	SendResolved bool
}

// AppliedEntry is an entry of a rule's deliver that applies to a notice.
type AppliedEntry struct {
	Entry int       // position in Rule.Deliver
	At    time.Time // what its `at` came to; zero = it has none, or at once
}

// everywhere are all entries, as they apply to what is not about a row.
func everywhere(r *Rule) []AppliedEntry {
	list := make([]AppliedEntry, len(r.Deliver))
	for i := range list {
		list[i].Entry = i
	}
	return list
}

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

// Overlap says what happens to a firing that is due while the firing before it still runs.
type Overlap string

// The overlap policies.
const (
	OverlapSkip  Overlap = "skip"  // the firing is skipped
	OverlapQueue Overlap = "queue" // the firing waits; at most one firing waits
)

// CatchUp says which missed firings a node runs later.
type CatchUp string

// The catch-up policies.
const (
	CatchUpNone CatchUp = "none"
	CatchUpOnce CatchUp = "once" // the latest missed firing
	CatchUpAll  CatchUp = "all"  // each missed firing, at most 100
)

// Policy says what a run without rows, or a failed run, does to the findings.
type Policy string

// The policies. PolicyOK is for no_data only.
const (
	PolicyOK       Policy = "ok"        // the findings resolve
	PolicyKeepLast Policy = "keep_last" // the findings stay as they are
	PolicyAlert    Policy = "alert"     // the findings stay, and a notice about the rule is sent
)

// FirstRun says what the first run does with the rows that it sees.
type FirstRun string

// The first runs.
const (
	FirstRunNotify   FirstRun = "notify"   // the run sends notices about the rows
	FirstRunBaseline FirstRun = "baseline" // the run records the rows and sends no notice about them
)

// Per says what becomes a finding.
type Per string

// The values of per.
const (
	PerRow    Per = "row"    // each row that meets the condition
	PerResult Per = "result" // the result as a whole; the condition sees `rows` and `row_count`
)

// Limit bounds the notices of one run. Digests cover all other findings, one digest for each warehouse. So no finding
// is lost.
type Limit struct {
	Notices int // How many findings, in the order of their keys, get a notice of their own. 0 means no limit.
}

// Modal says how a WMS client shows a notice.
type Modal string

// The modals.
const (
	ModalSilent Modal = "silent"
	ModalPopup  Modal = "popup"
)

// Rule is one rule in one scope, with defaults and the scope's overrides applied. The engine runs Rules. A rule with n
// scopes in its file becomes n Rules of the same ID.
type Rule struct {
	ID             string
	Scope          string // Empty where the rule has no scopes.
	Title          string
	Description    string
	Owner          string
	RunbookURL     string
	Labels         map[string]string // The labels in this scope.
	OwnLabels      map[string]string // The labels of the rule, without the overrides of scopes.
	Enabled        bool
	Mode           Mode
	Shadow         bool // The rule delivers only to an inbox of its own, until an operator promotes it.
	Schedule       Schedule
	Source         string
	Probe          Probe
	Per            Per
	When           string   // An expression. The default is "true".
	Key            []string // Columns. nil with per: result.
	GroupBy        []string // Columns. nil means a notice for each finding.
	For            time.Duration
	KeepFiringFor  time.Duration
	RepeatInterval time.Duration // 0 means never.
	NotifyAgainOn  []string      `json:",omitempty"` // Columns. nil means none.
	FirstRun       FirstRun
	NoData         Policy
	OnError        Policy
	Unjudged       Unjudged // With OnError alert: how many rows without a judgement send a notice.
	Limit          Limit
	Notice         Notice
	Deliver        []deliver.Entry // nil means the deliver entries of the type.
	SplitBy        string          `json:",omitempty"` // A column. Empty means that the probe runs for each scope.
	Scopes         *ScopeQuery     `json:",omitempty"` // nil means that the file has the scopes, or that there are none.
	Placeholder    Placeholder     `json:",omitempty"` // Empty for a rule that can run.

	File     string // The file that the rule was read from.
	Checksum string // A checksum of the fields above except File. It changes when the meaning of the rule changes.

	// Kin is equal for scopes of a rule that differ only in their names and in the values of parameters. Such scopes
	// have the same time zone and the same other overrides, so they can share one compiled Program. Kin is empty for a
	// rule without scopes, and for a rule whose file lists a single scope.
	Kin string `json:"-"`

	origin origin // The places of the fields in File, for problems that later checks find.
}

// Schedule says when a rule fires.
type Schedule struct {
	Cron     string
	Timezone string // IANA name; UTC by default
	Jitter   time.Duration
	Overlap  Overlap
	CatchUp  CatchUp
}

// Unjudged says how many unjudged rows of a run send a notice about the rule. A row is unjudged where its condition has
// no value, or where no notice can be made of it. The limit is a share of the rows or a number of rows. The zero value
// means one row.
type Unjudged struct {
	Percent int // From 1 to 100. 0 means that Rows is the limit.
	Rows    int
}

// Reached tells whether a run with this many unjudged rows, of all its rows, reaches the limit.
func (u Unjudged) Reached(unjudged, rows int) bool {
	if u.Percent > 0 {
		return unjudged > 0 && unjudged*100 >= u.Percent*rows
	}
	return unjudged >= max(u.Rows, 1)
}

// String returns the limit as a rule file writes it. It is "" for the zero value.
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
	MaxCost   int               // The rule does not run where the database's plan costs more. 0 means no limit.
	Columns   map[string]Column `json:",omitempty"` // Declared columns, by name.
	Watermark *Watermark        // For mode event only.
}

// Watermark lets a probe of mode event see each row once.
type Watermark struct {
	Columns []string
	Initial map[string]any // The first run begins after these values. A time column may have a duration such as "-1h".
	Lag     time.Duration  // :until is scheduled_at minus Lag.
	// LookBack is what the rule says; nil means the default. Callers use LooksBack, which applies the default.
	LookBack *LookBack `json:",omitempty"`
}

// Notice describes the notices of a rule. Texts are by language; the key "" has the text without a language.
type Notice struct {
	Type         string
	Warehouse    string            // An expression. Empty means the name of the scope.
	Priority     string            // An expression. Empty means the priority of the type, or 3.
	Order        string            `json:",omitempty"` // An expression. Empty means no order.
	Modal        Modal             // Empty means the modal of the type, or silent.
	Title        map[string]string // Templates. nil means the texts of the type. The same holds for Body.
	Body         map[string]string
	Fields       map[string]string // Expressions by field. nil means the columns that have the names of the fields.
	Expires      time.Duration     // 0 means the type's retention.
	SendResolved bool              // The rule sends a notice as well when the finding resolves.
}

// AppliedEntry is an entry of a rule's deliver that applies to a notice.
type AppliedEntry struct {
	Entry int       // The position in Rule.Deliver.
	At    time.Time // The value of the entry's `at`. Zero means that the delivery begins at once.
}

// everywhere returns all entries of deliver, each without a time. It serves notices about the rule itself, and rules
// whose entries have no expression.
func everywhere(r *Rule) []AppliedEntry {
	list := make([]AppliedEntry, len(r.Deliver))
	for i := range list {
		list[i].Entry = i
	}
	return list
}

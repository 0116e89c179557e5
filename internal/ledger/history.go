package ledger

import (
	"context"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/notice"
	"tallyman/internal/silence"
)

// History answers what has happened: runs, findings, notices, and what they come to together.
type History interface {
	Runs
	Traces
	Plans
	Search
	Overviews
}

// Runs answers what became of runs.
type Runs interface {
	RunSummary
	// Runs returns the runs of a rule (scope nil = all its scopes), latest first.
	Runs(ctx context.Context, rule string, scope *string, limit int) ([]Run, error)
	// Totals counts the notices that the ledger has by type, rule and status, in that order, for the summary
	// that the demo prints.
	Totals(ctx context.Context) ([]Total, error)
}

// RunSummary sums up the runs of each rule and scope.
type RunSummary interface {
	// LastRuns returns the latest run of every registered rule and scope, by rule and scope. One that was skipped has the findings of
	// the last that was not.
	LastRuns(ctx context.Context) ([]Run, error)
	// Judged sums up the runs that are kept of every registered rule and scope, by rule and scope.
	Judged(ctx context.Context) ([]Judged, error)
}

// Judged is how many rows the kept runs of a rule in a scope have seen, and how many of them could not be judged or told.
type Judged struct {
	Rule, Scope         string
	Runs, Rows, Errored int64
	Last                []Brief // the last 20 that were not skipped, the latest last
}

// LastBriefs is how many runs Judged.Last has at most.
const LastBriefs = 20

// Brief is how long a run took, and what it came to.
type Brief struct {
	Took    time.Duration
	Outcome Outcome
}

// Total is a count of notices; Latest is when the last of them was made.
type Total struct {
	Type, Rule, Status string
	Count              int64
	Latest             time.Time
}

// Traces answers what the ledger knows of one finding.
type Traces interface {
	// Finding returns an open finding with the row that its last change was made of. ErrNotFound.
	Finding(ctx context.Context, rule, scope, key string) (Finding, error)
	// Trace returns the notices of the rule and scope that were made of one of the keys, and those with the ids, the
	// latest first, each with its deliveries. Notices that are older than this question are found by their id only.
	Trace(ctx context.Context, rule, scope string, keys, ids []string, limit int) ([]Traced, error)
}

// Finding is an open finding and the row that its last change was made of.
type Finding struct {
	finding.State
	Row    []byte    // JSON, as FindingChange.Row had it; nil where none was recorded
	RowDue time.Time // of the run that saw it
}

// Traced is a notice and what became of it.
type Traced struct {
	Notice     *notice.Notice
	Deliveries []TracedDelivery // in the order of Seq
}

// TracedDelivery is how a delivery stands.
type TracedDelivery struct {
	Seq        int64
	Lane       Lane
	State      DeliveryState
	Attempts   int
	LastError  string
	SentAt     time.Time // zero unless sent
	Recipients []string  // of the inbox
}

// Plans remembers how the sources would run the probes.
type Plans interface {
	// LastPlan returns the plan that was recorded last. ErrNotFound.
	LastPlan(ctx context.Context, rule, scope string) (ProbePlan, error)
	// RecordPlan replaces it.
	RecordPlan(ctx context.Context, p ProbePlan) error
}

// ProbePlan is how the source of a rule would run its probe.
type ProbePlan struct {
	Rule, Scope string
	Checksum    string // of what was asked: another one is another statement
	Cost        float64
	Shape       string
	Asked       time.Time
	Before      *PlanBefore // the plan before this one, where it had another shape
}

// PlanBefore is a plan that the source has given up for another.
type PlanBefore struct {
	Cost  float64
	Shape string
	Until time.Time // when the other one was first seen
}

// View is a ledger that is open for reading only, beside the nodes that write it. It changes nothing.
type View interface {
	Traces
	Runs
	Promotions(ctx context.Context) ([]Promotion, error)
	ScopeReader
	CatalogueReader
	Silences(ctx context.Context) ([]silence.Silence, error)
	Close() error
}

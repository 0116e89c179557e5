package ledger

import (
	"context"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/notice"
)

// History answers what has happened: runs, findings, notices, and what they come to together.
type History interface {
	Runs
	Traces
	Plans
	Search
	Overviews
	Samples
}

// Runs answers what became of runs.
type Runs interface {
	RunSummary
	RunReader
	// Totals counts the notices that the ledger has by type, rule and status, in that order, for the summary
	// that the demo prints.
	Totals(ctx context.Context) ([]Total, error)
}

// RunReader returns runs.
type RunReader interface {
	// Runs returns the runs of a rule (scope nil = all its scopes), latest first.
	Runs(ctx context.Context, rule string, scope *string, limit int) ([]Run, error)
}

// RunSummary sums up the runs of each rule and scope.
type RunSummary interface {
	// LastRuns returns the latest run of every registered rule and scope, by rule and scope. One that was skipped has the findings of
	// the last that was not.
	LastRuns(ctx context.Context) ([]Run, error)
	// RunSums sums up the runs that are kept of every registered rule and scope, by rule and scope.
	RunSums(ctx context.Context) ([]RunSum, error)
	// Progress returns how far every registered rule and scope is, by rule and scope.
	Progress(ctx context.Context) ([]Progress, error)
}

// Progress is how far the firings of a rule in a scope are.
type Progress struct {
	Rule, Scope string
	Term        int64     // the clock term of Done
	Done        time.Time // due time of the last firing that is done or was skipped; before the first when the rule was registered
	RunningTerm int64     // the clock term of Running
	Running     time.Time // due time of the firing that a node holds by a lease that is in force; zero = none does
	Unwell      time.Time // due time of the first of the last runs that were all degraded or failed; zero = the last was ok, or there is none
}

// RunSum is how many rows the kept runs of a rule in a scope have seen, and how many of them could not be judged or told.
type RunSum struct {
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
	NoticeTracer
}

// NoticeTracer tells what was made of findings.
type NoticeTracer interface {
	// Trace returns the notices of the rule and scope that were made of one of the keys, and those with the ids, the
	// latest first, each with its deliveries. Notices that are older than this question are found by their id only.
	Trace(ctx context.Context, rule, scope string, keys, ids []string, limit int) ([]NoticeTrace, error)
}

// Finding is an open finding and the row that its last change was made of.
type Finding struct {
	finding.State
	Row    []byte    // JSON, as FindingChange.Row had it; nil where none was recorded
	RowDue time.Time // of the run that saw it
}

// NoticeTrace is a notice and what became of it.
type NoticeTrace struct {
	Notice     *notice.Notice
	Deliveries []DeliveryTrace // in the order of Seq
}

// DeliveryTrace is how a delivery stands.
type DeliveryTrace struct {
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
	PromotionReader
	ScopeReader
	CatalogueReader
	ScopeLists
	SilenceReader
	Close() error
}

// MostLookedAt is how many notices a search looks at before it answers with what it has found so far.
const MostLookedAt = 20_000

// Search finds notices by what they are, and what made one.
type Search interface {
	// SearchNotices returns notices, the latest first unless the filter says otherwise. It looks at MostLookedAt of them at most, and only at those that one of the
	// filter's texts leads to: its Finding, else Rule, Types, Warehouses, else at all between From and To.
	SearchNotices(ctx context.Context, f NoticeFilter) (NoticePage, error)
	Finder
	// RunAt returns the run of the rule in the scope that made what was made at that time: the latest that had begun by then and was not
	// skipped. ErrNotFound.
	RunAt(ctx context.Context, rule, scope string, at time.Time) (Run, error)
}

// Finder finds open findings and items by a text that stands in them, such as the number of a bin or an order.
type Finder interface {
	// FindFindings returns open findings with one of the whole keys, then those in whose key or last row one of the spellings stands. all is false where
	// the limit or the time was over before every finding had been looked at.
	FindFindings(ctx context.Context, f TextFilter) (list []FoundFinding, all bool, err error)
	// FindItems returns items of the queue, ended or not, the latest push first: those with a spelling as their dedupe key, then those that have one
	// in the dedupe key, the subject or the payload. It looks at the latest MostLookedAt of them; all is false where there are more, or more than the
	// limit, or the time was over.
	FindItems(ctx context.Context, queue string, f TextFilter) (list []item.Record, all bool, err error)
}

// TextFilter says what a Finder finds.
type TextFilter struct {
	Spellings  []string // at least one
	Keys       []string // whole keys of findings, canonical
	Warehouses []string // nil = all, and what belongs to none
	Limit      int      // at least 1
	Until      time.Time
}

// FoundFinding is an open finding with its place. Warehouse is that of its notice, else its scope.
type FoundFinding struct {
	Rule, Scope, Warehouse string
	finding.State
}

// NoticeFilter narrows a search; zero values narrow nothing.
type NoticeFilter struct {
	Warehouses []string // one of these
	Types      []string // one of these
	Statuses   []notice.Status
	Rule       string
	Scope      *string  // nil = any
	Key        string   // a part of the key, as it is written
	Spellings  []string // one of these stands in the key, the title, the body, a translation or the data; none = any
	Finding    string   // the whole key; counts where there are a rule and a scope
	Episode    string
	Priority   int         // at least
	From, To   time.Time   // made at From or later, and before To
	Oldest     bool        // the oldest first
	Before     NoticePlace // where the page before ended; of the oldest first, the page is behind it
	Limit      int         // at least 1
}

// NoticePlace is where a notice stands in the order of a search. The zero value is before the latest.
type NoticePlace struct {
	At time.Time
	N  int64 // orders those of one time
	ID string
}

// NoticePage is a page of a search.
type NoticePage struct {
	Notices []*notice.Notice
	Next    NoticePlace // the page that follows is before it; zero = there is none
	Stopped bool        // MostLookedAt came before the page was full
}

// Overviews counts for those who look on. They ask again and again: each question costs what it counts, and nothing of what is kept besides.
type Overviews interface {
	// CountNotices counts the notices that were made from one time to another, which is not included, by parts of the length, by warehouse and by type,
	// in that order. A part begins at a multiple of its length since 1970; of the first and last, what lies between the times is counted. Events of items
	// are for systems, and do not count.
	CountNotices(ctx context.Context, from, to time.Time, part time.Duration) ([]NoticeCount, error)
	// CountFindings counts the open findings by warehouse, in that order. A finding belongs to the warehouse of its last notice; one without a
	// notice to its scope, as if that were one.
	CountFindings(ctx context.Context) ([]FindingCount, error)
}

// NoticeCount is how many notices of a type were made in a warehouse in some time.
type NoticeCount struct {
	Start     time.Time
	Warehouse string
	Type      string
	Count     int64
	Urgent    int64 // of those, the ones of priority 4 and 5
}

// FindingCount is how many findings are open in a warehouse.
type FindingCount struct {
	Warehouse       string // "" = of rules without scopes, not told yet
	Firing, Pending int64
}

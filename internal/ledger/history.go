package ledger

import (
	"context"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/notice"
)

// History answers questions about the past: runs, findings, notices, and statistics of them.
type History interface {
	Runs
	Traces
	Plans
	Search
	Overviews
	Samples
}

// Runs reads the records of runs.
type Runs interface {
	RunSummary
	RunReader
	// Totals counts the notices that the ledger keeps, by type, rule and status, in that order. The demo prints its
	// summary from them.
	Totals(ctx context.Context) ([]Total, error)
}

// RunReader returns runs.
type RunReader interface {
	// Runs returns at most limit runs of a rule, the latest first. scope nil = all its scopes.
	Runs(ctx context.Context, rule string, scope *string, limit int) ([]Run, error)
	// RunsDue is Runs for the runs with from <= due time < to. A zero from or to sets no bound.
	RunsDue(ctx context.Context, rule string, scope *string, from, to time.Time, limit int) ([]Run, error)
}

// RunSummary sums up the runs of each rule and scope.
type RunSummary interface {
	// LastRuns returns the latest run of every registered rule and scope, by rule and scope. A skipped run has the
	// numbers of findings from the last run that was not skipped.
	LastRuns(ctx context.Context) ([]Run, error)
	// RunSums sums up the runs that the ledger keeps of every registered rule and scope, by rule and scope.
	RunSums(ctx context.Context) ([]RunSum, error)
	// Progress returns how far the firings of every registered rule and scope are, by rule and scope.
	Progress(ctx context.Context) ([]Progress, error)
}

// Progress is how far the firings of a rule in a scope are.
type Progress struct {
	Rule, Scope string
	Term        int64 // the clock term of Done
	// Due time of the last firing that is done or was skipped; before the first firing, the time of registration.
	Done        time.Time
	RunningTerm int64     // the clock term of Running
	Running     time.Time // due time of the firing that a node runs under a lease in force; zero = no node runs one
	// Due time of the first run since which every run was degraded or failed; zero = the last run was ok, or there is
	// none.
	Unwell time.Time
}

// RunSum counts the rows that the kept runs of a rule in a scope have read, and the rows that they could not judge or
// make into a notice.
type RunSum struct {
	Rule, Scope         string
	Runs, Rows, Errored int64
	Notices             int64
	First               time.Time // Due time of the first kept run; zero where there is none.
	Last                []Brief   // the last LastBriefs runs that were not skipped, the latest last
}

// LastBriefs bounds the length of RunSum.Last.
const LastBriefs = 20

// Brief is the duration and the outcome of a run.
type Brief struct {
	Took    time.Duration
	Outcome Outcome
}

// Total is a count of notices. Latest is the creation time of the latest one.
type Total struct {
	Type, Rule, Status string
	Count              int64
	Latest             time.Time
}

// Traces reads everything that the ledger knows about one finding.
type Traces interface {
	// Finding returns an open finding with the row that caused its last change. ErrNotFound.
	Finding(ctx context.Context, rule, scope, key string) (Finding, error)
	NoticeTracer
}

// NoticeTracer reads the notices of findings.
type NoticeTracer interface {
	// Trace returns notices of the rule and scope, the latest first, each with its deliveries: the notices that were
	// made of one of the keys, and the notices with the ids. A digest or a group's notice has a key of its own, so
	// only its id finds it.
	Trace(ctx context.Context, rule, scope string, keys, ids []string, limit int) ([]NoticeTrace, error)
}

// Finding is an open finding and the row that caused its last change.
type Finding struct {
	finding.State
	Row    []byte    // JSON, from FindingChange.Row; nil = none was recorded
	RowDue time.Time // due time of the run that read the row
}

// NoticeTrace is a notice with its deliveries.
type NoticeTrace struct {
	Notice     *notice.Notice
	Deliveries []DeliveryTrace // in the order of Seq
}

// DeliveryTrace is the state of a delivery.
type DeliveryTrace struct {
	Seq        int64
	Lane       Lane
	State      DeliveryState
	Attempts   int
	LastError  string
	SentAt     time.Time // zero unless sent
	Recipients []string  // set for the inbox
}

// Plans keeps the query plans by which the sources would run the probes.
type Plans interface {
	// LastPlan returns the plan that was recorded last. ErrNotFound.
	LastPlan(ctx context.Context, rule, scope string) (ProbePlan, error)
	// RecordPlan replaces the recorded plan.
	RecordPlan(ctx context.Context, p ProbePlan) error
}

// ProbePlan is the plan by which the source of a rule would run its probe.
type ProbePlan struct {
	Rule, Scope string
	Checksum    string // checksum of the statement that was explained; a different one means a different statement
	Cost        float64
	Shape       string
	Asked       time.Time
	Before      *PlanBefore // the plan before this one, if it had another shape
}

// PlanBefore is a plan that the source has replaced by another one.
type PlanBefore struct {
	Cost  float64
	Shape string
	Until time.Time // when a node first saw the plan that replaced this one
}

// View is a ledger that is opened for reading only, while nodes write to it.
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

// MostLookedAt bounds how many notices a search reads. At the bound the search returns what it has found so far.
const MostLookedAt = 20_000

// Search finds notices, and the run that made a notice.
type Search interface {
	// SearchNotices returns notices, the latest first unless the filter says otherwise. SearchNotices reads
	// MostLookedAt notices at most. With Finding it reads only the notices of that finding. Otherwise it reads only
	// the notices between From and To that match Rule, Types, Warehouses and Priority.
	SearchNotices(ctx context.Context, f NoticeFilter) (NoticePage, error)
	Finder
	// RunAt returns the run of the rule in the scope that made a notice at that time: the latest run that had started
	// by then and was not skipped. ErrNotFound.
	RunAt(ctx context.Context, rule, scope string, at time.Time) (Run, error)
}

// Finder finds open findings and items by a text in them, such as the number of a bin or an order.
type Finder interface {
	// FindFindings returns open findings: first findings with one of the whole keys, then findings with one of the
	// spellings in the key or the last row. all is false where the limit or the time ran out before every finding was
	// read.
	FindFindings(ctx context.Context, f TextFilter) (list []FoundFinding, all bool, err error)
	// FindItems returns items of the queue, ended or not. First come items with one of the spellings as the dedupe
	// key, then items with a spelling in the dedupe key, the subject or the payload. The items of one spelling, and
	// the items of the second part, are sorted by their push, the latest first. FindItems reads the latest
	// MostLookedAt items. all is false where the queue has more items than that, or the limit or the time ran out.
	FindItems(ctx context.Context, queue string, f TextFilter) (list []item.Record, all bool, err error)
}

// TextFilter says what a Finder finds.
type TextFilter struct {
	Spellings  []string // at least one
	Keys       []string // whole keys of findings, canonical
	Warehouses []string // nil = all, including records without a warehouse
	Limit      int      // at least 1
	Until      time.Time
}

// FoundFinding is an open finding with its place. Warehouse comes from its notice, or else from its scope.
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
	Scope      *string // nil = any
	Key        string  // a part of the key's text
	// At least one of these texts must stand in the key, the title, the body, a translation or the data; none = any.
	Spellings []string
	Finding   string // the whole key; used only with Rule and Scope
	Episode   string
	Priority  int       // the lowest priority to return
	From, To  time.Time // creation time: From is included, To is not
	Oldest    bool      // the oldest first
	// Where the previous page ended; with Oldest the next page lies behind it, otherwise before it.
	Before NoticePlace
	Limit  int // at least 1
}

// NoticePlace is the place of a notice in the order of a search. The zero value is the start of the search: before the
// latest notice, or with Oldest before the oldest one.
type NoticePlace struct {
	At time.Time
	N  int64 // orders notices of the same time
	ID string
}

// NoticePage is a page of a search.
type NoticePage struct {
	Notices []*notice.Notice
	Next    NoticePlace // cursor of the next page, for NoticeFilter.Before; zero = this is the last page
	Stopped bool        // The search reached MostLookedAt before the page was full.
}

// Overviews counts for dashboards, which poll. The cost of a call depends on what it counts, not on how much the
// ledger keeps.
type Overviews interface {
	// CountNotices counts the notices created from one time (included) to another (excluded), by part of the given
	// length, by warehouse and by type, in that order. A part begins at a multiple of its length since 1970. The
	// first and the last part count only notices between the two times. Events of items do not count, because they
	// address systems.
	CountNotices(ctx context.Context, from, to time.Time, part time.Duration) ([]NoticeCount, error)
	// CountFindings counts the open findings by warehouse, in that order. A finding belongs to the warehouse of its
	// last notice. A finding without a notice belongs to its scope, as if the scope were a warehouse.
	CountFindings(ctx context.Context) ([]FindingCount, error)
}

// NoticeCount is the number of notices of a type that were created in a warehouse in one part of time.
type NoticeCount struct {
	Start     time.Time
	Warehouse string
	Type      string
	Count     int64
	Urgent    int64 // of these, the notices of priority 4 and 5
}

// FindingCount is how many findings are open in a warehouse.
type FindingCount struct {
	Warehouse       string // "" = of rules without scopes, before the first notice
	Firing, Pending int64
}

package ledger

import (
	"context"
	"time"

	"tallyman/internal/notice"
)

// MostLookedAt is how many notices a search looks at before it answers with what it has found so far.
const MostLookedAt = 20_000

// Search finds notices by what they are, and what made one.
type Search interface {
	// SearchNotices returns notices, the latest first. It looks at MostLookedAt of them at most, and only at those that one of the
	// filter's texts leads to: its Finding, else Rule, Types, Warehouses, else at all between From and To.
	SearchNotices(ctx context.Context, f NoticeFilter) (FoundNotices, error)
	// RunAt returns the run of the rule in the scope that made what was made at that time: the latest that had begun by then and was not
	// skipped. ErrNotFound.
	RunAt(ctx context.Context, rule, scope string, at time.Time) (Run, error)
}

// NoticeFilter narrows a search; zero values narrow nothing.
type NoticeFilter struct {
	Warehouses []string // one of these
	Types      []string // one of these
	Statuses   []notice.Status
	Rule       string
	Scope      *string // nil = any
	Key        string  // a part of the key, as it is written
	Finding    string  // the whole key; counts where there are a rule and a scope
	Episode    string
	Priority   int       // at least
	From, To   time.Time // made at From or later, and before To
	Before     NoticePlace
	Limit      int // at least 1
}

// NoticePlace is where a notice stands in the order of a search. The zero value is before the latest.
type NoticePlace struct {
	At time.Time
	N  int64 // orders those of one time
	ID string
}

// FoundNotices is a page of a search.
type FoundNotices struct {
	Notices []*notice.Notice
	Next    NoticePlace // the page that follows is before it; zero = there is none
	Stopped bool        // MostLookedAt came before the page was full
}

// Overviews counts for those who look on. They ask again and again: each question costs what it counts, and nothing of what is kept besides.
type Overviews interface {
	// CountNotices counts the notices that were made from one time to another, which is not included, by parts of the length and by warehouse,
	// in that order. A part begins at a multiple of its length since 1970; of the first and last, what lies between the times is counted.
	CountNotices(ctx context.Context, from, to time.Time, part time.Duration) ([]NoticeCount, error)
	// CountFindings counts the open findings by warehouse, in that order. A finding belongs to the warehouse of its last notice; one without a
	// notice to its scope, as if that were one.
	CountFindings(ctx context.Context) ([]FindingCount, error)
}

// NoticeCount is how many notices were made in a warehouse in some time.
type NoticeCount struct {
	Start     time.Time
	Warehouse string
	Count     int64
	Urgent    int64 // of those, the ones of priority 4 and 5
}

// FindingCount is how many findings are open in a warehouse.
type FindingCount struct {
	Warehouse       string // "" = of rules without scopes, not told yet
	Firing, Pending int64
}

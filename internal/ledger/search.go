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

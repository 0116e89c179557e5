package ledger

import (
	"context"
	"time"
)

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

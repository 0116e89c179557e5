package ledger

import (
	"context"
	"time"

	"tallyman/internal/delivery"
)

// Inbox is what the ledger keeps of inboxes, so that nodes can rebuild the index in Redis. The index of each queue
// has an IndexState here, too.
type Inbox interface {
	delivery.IndexRecord
	delivery.InboxRecord
	Marks
}

// IndexState is the generation of an index in Redis.
type IndexState = delivery.IndexState

// ScoredDelivery is a delivery that the inbox had, with its score.
type ScoredDelivery = delivery.ScoredDelivery

// Marks keeps which users have read and acked which notices.
type Marks interface {
	Marker
	MarkReader
	delivery.MarkRecord
}

// Marker records the notices that users have read and acked.
type Marker interface {
	// Mark records a read or an ack. In the same transaction it cancels the waiting deliveries of the notice that the
	// mark makes needless. A delivery with `unless: acked` is needless after an ack by anybody. A delivery with
	// `unless: read` to several recipients is needless after a read by anybody. A delivery to one subscriber is
	// needless only if As has this subscriber. A repeated mark changes nothing and keeps the first time. ErrNotFound
	// unless the notice was delivered, or is on its way, to an inbox of As in the warehouse.
	Mark(ctx context.Context, m Mark) error
	// ReadAll records a watermark for each inbox. A watermark only rises. Then it cancels, in batches, the waiting
	// deliveries with `unless: read` of the notices at or below the watermark, and returns how many. A call that was
	// cut off can be repeated and then completes.
	ReadAll(ctx context.Context, r ReadAll) (canceled int, err error)
}

// MarkReader tells which users have read and acked a notice.
type MarkReader interface {
	// MarksOf returns the marks of a notice in the order of time. A user without a mark whose watermark covers the
	// notice counts as having read it, at the time of the last such watermark.
	MarksOf(ctx context.Context, notice string) ([]Mark, error)
}

// MarkKind is what a user did with a notice.
type MarkKind string

// The kinds. An ack is a read, too.
const (
	MarkRead  MarkKind = "read"
	MarkAcked MarkKind = "acked"
)

// Mark is one user's read or ack of one notice in one warehouse.
type Mark struct {
	Notice    string
	Warehouse string
	User      string   // user:<id>
	As        []string // the user and the user's roles; at least one of them must be a recipient
	Kind      MarkKind
	At        time.Time
}

// ReadAll says that a user has read everything in some inboxes of a warehouse, up to a score of the warehouse's
// clock.
type ReadAll struct {
	Warehouse string
	User      string // user:<id>
	Inboxes   []string
	UpTo      int64
	At        time.Time
}

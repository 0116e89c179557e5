package ledger

import (
	"context"
	"time"

	"tallyman/internal/delivery"
)

// Inbox is what the ledger keeps of inboxes, so that the index in Redis can be written back. The index of each queue has an IndexState here, too.
type Inbox interface {
	delivery.IndexRecord
	delivery.InboxRecord
	Marks
}

// IndexState is the generation of an index in Redis.
type IndexState = delivery.IndexState

// ScoredDelivery is a delivery that the inbox had, with its score.
type ScoredDelivery = delivery.ScoredDelivery

// Marks keeps who has read and acked what.
type Marks interface {
	Marker
	MarkReader
	delivery.MarkRecord
}

// Marker records what users have read and acked.
type Marker interface {
	// Mark records it, and cancels in the same transaction the waiting deliveries of the notice that it makes needless (`unless`). Those that
	// are for one subscriber alone are made needless by a read of As, or by anybody's ack. A repeated
	// one changes nothing and keeps the first time. ErrNotFound unless the notice was delivered, or is on its way, to an inbox of As in
	// the warehouse.
	Mark(ctx context.Context, m Mark) error
	// ReadAll records it as a watermark of each inbox, which only rises, and cancels the waiting deliveries with `unless: read` of the
	// notices that lie there at or below it, in batches: one that is cut off is done by repeating it. It returns how many.
	ReadAll(ctx context.Context, r ReadAll) (canceled int, err error)
}

// MarkReader tells who has read and acked a notice.
type MarkReader interface {
	// MarksOf returns the marks of a notice, and a read for each user who has none and has read it among all, with the time of the last
	// such, in the order of time.
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
	As        []string // the user and the roles that it has, of which one at least is a recipient
	Kind      MarkKind
	At        time.Time
}

// ReadAll says that a user has read everything in some inboxes of a warehouse up to a score of its clock.
type ReadAll struct {
	Warehouse string
	User      string // user:<id>
	Inboxes   []string
	UpTo      int64
	At        time.Time
}

package ledger

import (
	"context"
	"time"

	"tallyman/internal/delivery"
)

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

// Marks keeps who has read and acked what.
type Marks interface {
	// Mark records it, and cancels in the same transaction the waiting deliveries of the notice that it makes needless (`unless`). A repeated
	// one changes nothing and keeps the first time. ErrNotFound unless the notice was delivered, or is on its way, to an inbox of As in
	// the warehouse.
	Mark(ctx context.Context, m Mark) error
	// MarksOf returns the marks of a notice, and a read for each user who has none and has read it among all, with the time of the last
	// such, in the order of time.
	MarksOf(ctx context.Context, notice string) ([]Mark, error)
	// ReadAll records it as a watermark of each inbox, which only rises, and cancels the waiting deliveries with `unless: read` of the
	// notices that lie there at or below it, in batches: one that is cut off is done by repeating it. It returns how many.
	ReadAll(ctx context.Context, r ReadAll) (canceled int, err error)
	MarkRecord
}

// MarkRecord is what the index in Redis is written back from.
type MarkRecord interface {
	// LiveMarks pages through the marks of notices that have not expired, each once.
	LiveMarks(ctx context.Context, after delivery.Mark, limit int) ([]delivery.Mark, error)
	// RecentMarks pages through all marks in the order of their time. After may be one with a time alone.
	RecentMarks(ctx context.Context, after delivery.Mark, limit int) ([]delivery.Mark, error)
	// Watermarks pages through all watermarks in the order of their time. After may be one with a time alone.
	Watermarks(ctx context.Context, after delivery.Watermark, limit int) ([]delivery.Watermark, error)
}

// Book is the address book: where the subscribers are reached by push channels.
type Book interface {
	// PutSubscriber adds or replaces an entry. ErrInvalid.
	PutSubscriber(ctx context.Context, who Author, s delivery.Subscriber) (added bool, err error)
	// DeleteSubscriber removes it; its subscriptions stay. ErrNotFound.
	DeleteSubscriber(ctx context.Context, who Author, id string) error
	// Subscribers returns the entries of the ids that have one.
	Subscribers(ctx context.Context, ids []string) (map[string]delivery.Subscriber, error)
	// ListSubscribers pages through the book in the order of ids, after "after".
	ListSubscribers(ctx context.Context, after string, limit int) ([]delivery.Subscriber, error)
}

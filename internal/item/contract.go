package item

import (
	"context"
	"time"
)

// Journal is what a queue records of its items: what it must never lose, and what became of each. A queue is known by its
// name; its test twin, whose name ends in ":test", is a queue of its own that has the epochs of its queue.
type Journal interface {
	// PushItems records items that are about to be pushed, all or none, and answers in their order. One whose id the queue
	// has had before, or that comes twice in the call, is left as it was. Records are kept as they are given, but for Seq.
	PushItems(ctx context.Context, queue string, items []Record) ([]Known, error)
	// RefuseItems ends items that were recorded and then refused for their dedupe key. Those that have ended stay as they are.
	RefuseItems(ctx context.Context, queue string, refused []Refusal) error
	// ApplyMoves records what happened, and the orders by which it did, in one transaction and in the order given. Entries at or below the position that was
	// applied last in the epoch change nothing; a position left out is no fault. A move that is not later than the item's last
	// one is kept in its trace and changes nothing else. ErrFenced where the epoch is not the recorded one.
	ApplyMoves(ctx context.Context, queue, epoch string, entries []Moves) error
	// AppliedMoves returns the position that was applied last in the epoch, 0 = none.
	AppliedMoves(ctx context.Context, queue, epoch string) (int64, error)
	// UnfinishedItems returns items that have not ended, ascending by Seq.
	UnfinishedItems(ctx context.Context, queue string, after int64, limit int) ([]Record, error)
	// HeldKeys returns the dedupe keys of items that are done and whose windows end after now, ascending by Seq. Those that
	// were removed or refused hold none.
	HeldKeys(ctx context.Context, queue string, now time.Time, after int64, limit int) ([]HeldKey, error)
}

// Records is what the ledger tells of items to those who look.
type Records interface {
	// SubjectItems returns for each of the subjects the ids of unfinished items that were made of it, in the order of their pushes.
	SubjectItems(ctx context.Context, queue string, subjects []string) ([][]string, error)
	// ItemTrace returns an item, ended or not, with its moves. The first is its push: N 0, From "", and By, Node and Created
	// of its record. ErrNotFound.
	ItemTrace(ctx context.Context, queue, id string) (Record, []Move, error)
	// EndedItems returns items of the scope's warehouses that have ended as the state says, with Seq below before (0 = any), the latest
	// push first. Of a scope that is not all it looks at so many items at most: the list may be shorter than the limit, and even empty,
	// where there are more. Next is the Seq below which they are, 0 = there are none. ErrInvalid for a state that is no end.
	EndedItems(ctx context.Context, queue string, state State, scope Scope, before int64, limit int) (list []Record, next int64, err error)
	// QueuePause returns the zero value for a queue that was never paused.
	QueuePause(ctx context.Context, queue string) (Pause, error)
	// SetQueuePause leaves a record of who has paused or resumed the queue. The action, object and states of the order are the ledger's to say.
	SetQueuePause(ctx context.Context, o *Order, queue string, p Pause) error
}

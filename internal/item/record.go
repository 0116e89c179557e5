package item

import (
	"context"
	"time"
)

// Record is an item as the ledger keeps it. The first part is what a push records. The second part, from State on, is
// the state after the last move that reached the ledger.
type Record struct {
	New

	Seq    int64     // the ledger's number; of the pushes of one node, a later commit has higher numbers
	Bucket string    // identifies the dedupe key and its window; "" = none
	Until  time.Time // end of the dedupe window; zero = when the item has ended
	Ready  time.Time // Created, plus Delay
	By     string    // who pushed it
	Node   string

	State    State
	Moves    int64
	Attempt  int
	Failures int
	Suspends int
	Due      time.Time
	Assignee string
	// Leased: what the item takes when it waits again; nil = nothing. Only UnfinishedItems fills in the payload.
	News *News
}

// News is a revision that waits for the end of a lease, with the payload from its source.
type News struct {
	Revision

	Payload []byte // nil = the item keeps its own
}

// PushAnswer is the ledger's answer for a pushed item.
type PushAnswer struct {
	Seq   int64
	New   bool  // The ledger did not have the item before.
	State State // the state that the ledger knows; an end means that the queue must not push the item again

	Warehouse string // warehouse of the item with this id

	// Moves and Attempt of the item's former lives, from which both counts go on. 0 = the item had none.
	Moves   int64
	Attempt int
}

// Refusal ends an item that was recorded and then refused because of its dedupe key.
type Refusal struct {
	Seq  int64
	Of   string // id of the item that holds the key
	At   time.Time
	Node string
}

// Move is one change of an item's state: an entry of its trace.
type Move struct {
	Seq      int64
	N        int64 // number within the item: 1 is the first move after the push
	At       time.Time
	From     State
	To       State
	Attempt  int
	Failures int
	Suspends int
	Due      time.Time // see Item.Due
	Assignee string
	By       string // the worker or operator; "" = the queue
	Node     string
	Note     string // the reason: the error of a nack, or the item that held the key

	Revision *Revision // new priority, order and payload of the item; nil = unchanged
}

// Moves is the result of one call of a Lua script, at one position of the queue's outbox.
type Moves struct {
	Position int64 // ascending without gaps within an epoch, from 1
	List     []Move
	Changes  []Change // audit records of the orders that caused the moves
	// Events that go to a push channel; nil = none. All entries of one call of ApplyMoves have the same.
	Events *Events
}

// HeldKey is the dedupe key of an item that has ended while its window is still open.
type HeldKey struct {
	Seq    int64
	ID     string
	Bucket string
	Until  time.Time
}

// Pause says whether a queue gives out items.
type Pause struct {
	Paused bool
	By     string
	At     time.Time // time of the last change; zero = never changed
}

// Journal is what a queue records of its items: the items themselves, which must not get lost, and their moves. A
// queue is identified by its name. Its test twin, whose name ends in ":test", is a queue of its own that shares the
// epochs of its queue.
type Journal interface {
	// PushItems records items that are about to be pushed, all or none, and answers in their order. An item whose id
	// the queue has had before, or that comes twice in the call, stays as it was. The ledger sets Seq and keeps all
	// other fields as given.
	//
	// With Again, an item with the same id and warehouse that has ended begins a new life. It is then a new item with
	// a new Seq, whose Moves and Attempt go on and whose trace has the moves of all its lives. It stays as it was
	// where the same Request has begun one of its lives already.
	PushItems(ctx context.Context, queue string, items []Record) ([]PushAnswer, error)
	// RefuseItems ends items that were recorded and then refused because of their dedupe key. An item that has ended
	// stays as it is.
	RefuseItems(ctx context.Context, queue string, refused []Refusal) error
	// ApplyMoves records moves and the orders that caused them, in the given order, in one transaction. It ignores
	// entries at or below the position that was last applied in the epoch; gaps between positions are allowed. A move
	// that is not later than the item's last move is added to the trace and changes nothing else.
	//
	// The same transaction writes the notices of events and their deliveries. A move that changes nothing is no
	// event. ErrFenced where the epoch is not the recorded one.
	ApplyMoves(ctx context.Context, queue, epoch string, entries []Moves) error
	// AppliedMoves returns the position that was last applied in the epoch; 0 = none.
	AppliedMoves(ctx context.Context, queue, epoch string) (int64, error)
	// UnfinishedItems returns items that have not ended, ascending by Seq.
	UnfinishedItems(ctx context.Context, queue string, after int64, limit int) ([]Record, error)
	// HeldKeys returns the dedupe keys of done items whose windows end after now, ascending by Seq. Removed and
	// refused items hold no key.
	HeldKeys(ctx context.Context, queue string, now time.Time, after int64, limit int) ([]HeldKey, error)
}

// Withheld names an item that has ended in Redis although the ledger has it as unfinished.
type Withheld struct {
	Seq  int64
	At   time.Time
	Node string // the node that found the item
	Note string // text for the trace
}

// Withholding keeps items from workers after the ledger was restored from a copy. Redis knows that these items have
// ended; the ledger does not know how. A withheld item is dead until an operator ends it or lets it run again.
type Withholding interface {
	// WithholdItems makes the items dead, with a move in their traces. Items that have ended or are withheld already
	// stay as they are.
	WithholdItems(ctx context.Context, queue string, list []Withheld) error
	// WithheldItems returns items of the scope's warehouses that are withheld and not decided, that have a Seq lower
	// than the argument before (0 = any Seq), the latest push first. next is the value of before for the next page; 0 =
	// last page.
	WithheldItems(ctx context.Context, queue string, scope Scope, before int64, limit int) (list []Record, next int64, err error)
}

// MovesLookedAt bounds how many records of moves LastLeases reads.
const MovesLookedAt = 5000

// Records reads items for operators, the API and the command line.
type Records interface {
	// SubjectItems returns for each subject the ids of its unfinished items, in the order of their pushes.
	SubjectItems(ctx context.Context, queue string, subjects []string) ([][]string, error)
	// ItemTrace returns an item, ended or not, with its moves. The first move is the push: N 0, From "", and By, Node
	// and Created from the record. ErrNotFound.
	ItemTrace(ctx context.Context, queue, id string) (Record, []Move, error)
	// EndedItems returns items of the scope's warehouses that are in the given end state, that have a Seq lower than
	// the argument before (0 = any Seq), the latest push first. Unless the scope is all, one call reads a bounded
	// number of items (ledger.LookedAt). The list may then be shorter than the limit, or empty, although more items
	// follow. next is the value of before for the next page; 0 = last page. ErrInvalid for a state that is no end.
	EndedItems(ctx context.Context, queue string, state State, scope Scope, before int64, limit int) (list []Record, next int64, err error)
	// KeyItems returns items of the scope's warehouses that were pushed with the dedupe key, ended or not, that have a
	// Seq lower than the argument before (0 = any Seq), the latest push first. next is the value of before for the next
	// page; 0 = last page.
	KeyItems(ctx context.Context, queue, key string, scope Scope, before int64, limit int) (list []Record, next int64, err error)
	// LastLeases returns by worker when the worker last leased an item of the scope's warehouses. It reads the
	// MovesLookedAt latest records of moves of all queues.
	LastLeases(ctx context.Context, queue string, scope Scope) (map[string]time.Time, error)
	// QueuePause returns the pause of a queue; the zero value where nobody ever paused it.
	QueuePause(ctx context.Context, queue string) (Pause, error)
	// SetQueuePause pauses or resumes the queue and writes an audit record. The ledger sets the action, object and
	// states of the order.
	SetQueuePause(ctx context.Context, o *Order, queue string, p Pause) error
}

package item

import (
	"context"
	"time"
)

// Record is an item as the ledger keeps it. What a push records is the first part; the second is how it stood after the
// last move that reached the ledger.
type Record struct {
	New

	Seq    int64     // given by the ledger, ascending in the order of commit of one node's pushes
	Bucket string    // names the dedupe key and its window; "" = none
	Until  time.Time // end of the dedupe window; zero = until the item has ended
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
	News     *News // leased: what it takes when it waits again; nil = nothing. UnfinishedItems alone says its payload
}

// News is a revision that waits for the end of a lease, with the payload of its source.
type News struct {
	Revision

	Payload []byte // nil = the item keeps its own
}

// PushAnswer is what the ledger says of a pushed item.
type PushAnswer struct {
	Seq   int64
	New   bool  // it was not there before
	State State // as far as the ledger knows; an end means that it is not to be pushed again

	Warehouse string // that the item of the id belongs to

	// Of a new item: how often it has moved and been leased in its former lives, and where both counts go on. 0 = it had none.
	Moves   int64
	Attempt int
}

// Refusal ends an item that was recorded and then refused for its dedupe key.
type Refusal struct {
	Seq  int64
	Of   string // the item that holds the key
	At   time.Time
	Node string
}

// Move is one change of an item's state: a record of its trace.
type Move struct {
	Seq      int64
	N        int64 // of the item: 1 is the first after its push
	At       time.Time
	From     State
	To       State
	Attempt  int
	Failures int
	Suspends int
	Due      time.Time // as Item.Due
	Assignee string
	By       string // the worker or operator; "" = the queue itself
	Node     string
	Note     string // why: the error of a nack, the item that held the key

	Revision *Revision // the item's priority, order and payload are others since; nil = they are as they were
}

// Moves is what one call of a script did, at one place in the queue's outbox.
type Moves struct {
	Position int64 // ascending without gaps within an epoch, from 1
	List     []Move
	Changes  []Change // the orders by which it moved them
	Events   *Events  // of which a push channel is told; nil = of none. All entries of a call have the same
}

// HeldKey is the dedupe key of an item that has ended, whose window has not.
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
	At     time.Time // of the last change; zero = there was none
}

// Journal is what a queue records of its items: what it must never lose, and what became of each. A queue is known by its
// name; its test twin, whose name ends in ":test", is a queue of its own that has the epochs of its queue.
type Journal interface {
	// PushItems records items that are about to be pushed, all or none, and answers in their order. One whose id the queue
	// has had before, or that comes twice in the call, is left as it was. Records are kept as they are given, but for Seq.
	//
	// With Again an item of the id and warehouse that has ended begins a new life: it is a new item, with a new Seq, whose Moves and Attempt go on, and
	// whose trace has those of all its lives. It is left as it was where one of its lives was begun by the same Request.
	PushItems(ctx context.Context, queue string, items []Record) ([]PushAnswer, error)
	// RefuseItems ends items that were recorded and then refused for their dedupe key. Those that have ended stay as they are.
	RefuseItems(ctx context.Context, queue string, refused []Refusal) error
	// ApplyMoves records what happened, and the orders by which it did, in one transaction and in the order given. Entries at or below the position that was
	// applied last in the epoch change nothing; a position left out is no fault. A move that is not later than the item's last
	// one is kept in its trace and changes nothing else. ErrFenced where the epoch is not the recorded one. The notices of events, and their deliveries, are
	// written in the same transaction; a move that changes nothing is no event.
	ApplyMoves(ctx context.Context, queue, epoch string, entries []Moves) error
	// AppliedMoves returns the position that was applied last in the epoch, 0 = none.
	AppliedMoves(ctx context.Context, queue, epoch string) (int64, error)
	// UnfinishedItems returns items that have not ended, ascending by Seq.
	UnfinishedItems(ctx context.Context, queue string, after int64, limit int) ([]Record, error)
	// HeldKeys returns the dedupe keys of items that are done and whose windows end after now, ascending by Seq. Those that
	// were removed or refused hold none.
	HeldKeys(ctx context.Context, queue string, now time.Time, after int64, limit int) ([]HeldKey, error)
}

// Withheld is an item that has ended although the ledger has it as unfinished.
type Withheld struct {
	Seq  int64
	At   time.Time
	Node string // that found it
	Note string // for the trace
}

// Withholding keeps items from workers after the ledger was restored. Redis knows that they have ended; the ledger does not know how. A withheld item
// is dead until an operator ends it or lets it run again.
type Withholding interface {
	// WithholdItems makes the items dead, with a move in their traces. Those that have ended, and those that are withheld already, stay as they are.
	WithholdItems(ctx context.Context, queue string, list []Withheld) error
	// WithheldItems returns items of the scope's warehouses that are withheld and not decided, with Seq below before (0 = any), the latest push first.
	// Next is the Seq below which there are more, 0 = there are none.
	WithheldItems(ctx context.Context, queue string, scope Scope, before int64, limit int) (list []Record, next int64, err error)
}

// MovesLookedAt is how many records of moves LastLeases looks at.
const MovesLookedAt = 5000

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
	// KeyItems returns items of the scope's warehouses that were pushed with the dedupe key, ended or not, with Seq below before (0 = any), the
	// latest push first. Next is the Seq below which there are more, 0 = there are none.
	KeyItems(ctx context.Context, queue, key string, scope Scope, before int64, limit int) (list []Record, next int64, err error)
	// LastLeases returns who leased items of the scope's warehouses and when each did last, among the MovesLookedAt latest records of moves of all queues.
	LastLeases(ctx context.Context, queue string, scope Scope) (map[string]time.Time, error)
	// QueuePause returns the zero value for a queue that was never paused.
	QueuePause(ctx context.Context, queue string) (Pause, error)
	// SetQueuePause leaves a record of who has paused or resumed the queue. The action, object and states of the order are the ledger's to say.
	SetQueuePause(ctx context.Context, o *Order, queue string, p Pause) error
}

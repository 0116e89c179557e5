package item

import "time"

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
}

// Known is what the ledger says of a pushed item.
type Known struct {
	Seq   int64
	New   bool  // it was not there before
	State State // as far as the ledger knows; an end means that it is not to be pushed again

	Warehouse string // that the item of the id belongs to
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
}

// Moves is what one call of a script did, at one place in the queue's outbox.
type Moves struct {
	Position int64 // ascending without gaps within an epoch, from 1
	List     []Move
	Changes  []Change // the orders by which it moved them
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

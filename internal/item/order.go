package item

import (
	"encoding/json"
	"time"
)

// Order is what an operator asks of a queue beside work: to finish, assign, remove or requeue items. It travels with the moves that it makes,
// and the ledger records both in one transaction. An order that changes nothing leaves no record.
type Order struct {
	By, Via        string          // who asks, and how they were authenticated: see ledger.Author; both are needed
	Action, Object string          // of the record, as queue.remove and queue:replenishment
	Reason         string          // "" = none was given
	Asked          json.RawMessage // what was asked for; nil = the operations say it
	Count          string          // the member of the record that says to how many items it was done, as removed; "" = they are listed
}

// Change is the record of an order that has changed something.
type Change struct {
	Order

	At   time.Time       // when it was done
	Done json.RawMessage // what was done, bounded: a number of items, or the operations
}

// Bulk is an order about many items.
type Bulk struct {
	Test  bool
	Scope Scope
	By    string // for the trace
	Order *Order // nil = it leaves no record
}

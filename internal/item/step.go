package item

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// OpKind is what is done to an item.
type OpKind string

// IsOrder tells whether the operation is more than work, and so leaves a record of who asked for it.
func (k OpKind) IsOrder() bool {
	switch k {
	case Finish, Assign, Remove, Requeue, Set:
		return true
	case Ack, Nack, Release, Extend, Suspend, Store:
	}
	return false
}

// The operations. Those of a worker name the attempt; with attempt 0 an operator acts on an item that nobody has.
const (
	Ack     OpKind = "ack"     // attempt: the work is done
	Nack    OpKind = "nack"    // attempt: it failed; ready after Delay, or dead at max_attempts
	Release OpKind = "release" // attempt: given back unused to its place in its level, no failure
	Extend  OpKind = "extend"  // attempt: the lease ends Delay from now (0 = the queue's lease)
	Suspend OpKind = "suspend" // attempt or 0: put off by the next of suspend_steps
	Store   OpKind = "store"   // attempt or 0: put away for Delay; the suspends count anew
	Finish  OpKind = "finish"  // 0: done without a lease
	Assign  OpKind = "assign"  // attempt or 0: only Worker gets it; "" = anybody again. A lease is passed on, without a failure; a delayed, suspended or stored item keeps its time
	Remove  OpKind = "remove"  // 0: taken out; with Force also while it is leased
	Requeue OpKind = "requeue" // 0: a dead item is ready again, its failures count anew
	Set     OpKind = "set"     // 0: another priority, order or payload: see Op.Set
)

// Op is one operation.
type Op struct {
	Kind    OpKind
	ID      string
	Attempt int
	Delay   time.Duration
	Worker  string
	Force   bool
	Note    string // why, for the trace
	Set     *Setting
	Seq     int64 // Remove: of the item with this number alone, not of one that has begun another life since; 0 = of whichever there is
}

// Setting is what the operation Set gives an item. What is nil, or 0, stays as it is.
type Setting struct {
	Priority int           // 1 … 5
	Order    *ServiceOrder // not given = the time of becoming ready
	// Source is the Seq of the refused record whose payload the item takes. With it a leased item takes all that is set when it waits again.
	Source  int64
	Payload []byte // that of the source
}

// Outcome is what became of an operation.
type Outcome string

// The outcomes. All but OK have changed nothing.
const (
	OK           Outcome = "ok"
	LeaseLost    Outcome = "lease_lost"     // the attempt named is over: the lease ran out, or the item has gone on or ended
	NotFound     Outcome = "item_not_found" // and no attempt was named
	IsLeased     Outcome = "item_leased"    // a worker has it, and the operation names no attempt
	SuspendLimit Outcome = "suspend_limit"  // every step is used: store or finish it
	NotDead      Outcome = "item_not_dead"
	IsDead       Outcome = "item_dead" // requeue or remove it
)

// Result is the answer for one operation, in the order of the call.
type Result struct {
	Kind    OpKind
	ID      string
	Outcome Outcome
	State   State     // with OK: how the item stands after it
	Due     time.Time // with OK: as Item.Due
}

// Step is one call of a worker or an operator: operations on what there is, then up to Max items more.
type Step struct {
	Test      bool
	Caller                  // Worker is needed with Max > 0
	By        string        // who calls, for the trace; "" = the caller's name
	RequestID string        // a repeated one of the same caller gets the same answer; "" = none
	Ops       []Op          // at most MaxBatch
	Order     *Order        // whose record its operations leave beside work; nil = they leave none
	Max       int           // 0 … MaxBatch
	Lease     time.Duration // 0 = the queue's
	Wait      time.Duration // for the first item, while there is none
}

// Stepped is the answer.
type Stepped struct {
	Results []Result
	Items   []Lease
}

// Caller is who asks a queue for something.
type Caller struct {
	Subject string // of the token: it owns the leases, requests and attempts; "" = there are no tokens, and Worker alone names the caller
	Worker  string // tells the devices of one subject apart
	Scope   Scope
	// OwnLeases refuses operations on attempts that another subject holds, as those of leases that are over.
	OwnLeases bool
}

// Name is the caller as leases and traces have it: <subject>/<worker>, or one of the two where the other is empty. An item that
// is assigned to a name goes to that worker alone; one that is assigned to a subject goes to all workers of the subject.
func (c *Caller) Name() string {
	if c.Subject == "" || c.Worker == "" {
		return c.Subject + c.Worker
	}
	return c.Subject + NameSeparator + c.Worker
}

// NameSeparator stands between the subject and the worker in a caller's name, and in neither of them.
const NameSeparator = "/"

// Scope is the warehouses whose items a caller may see and touch: all others' are answered as unknown ones. Nil is all, and what
// belongs to no warehouse.
type Scope []string

// Has tells whether items of the warehouse are in the scope.
func (s Scope) Has(warehouse string) bool {
	return s == nil || warehouse != "" && slices.Contains(s, warehouse)
}

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

// InvalidError says what is wrong with what a queue was asked.
type InvalidError struct {
	// Field is named as the API names it: id, priority, payload, dedupeKey, delay, attempt, note, op, worker, lease, max, wait,
	// requestId, items, ops, state, from, to, limit, after.
	Field   string
	Index   int // in the list of items or operations; -1 = it is none of theirs
	Message string
}

// Error names the place and what is wrong there.
func (e *InvalidError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("%s: %s", e.Field, e.Message)
	}
	return fmt.Sprintf("[%d].%s: %s", e.Index, e.Field, e.Message)
}

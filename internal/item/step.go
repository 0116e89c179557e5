package item

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// OpKind is the kind of an operation on an item.
type OpKind string

// IsOrder tells whether the operation is an operator's order rather than work. An order leaves an audit record.
func (k OpKind) IsOrder() bool {
	switch k {
	case Finish, Assign, Remove, Requeue, Set:
		return true
	case Ack, Nack, Release, Extend, Suspend, Store:
	}
	return false
}

// The operations. A worker names the attempt of its lease. An operator names attempt 0 and acts on an item that
// nobody holds. "attempt" and "0" say which of the two each operation takes.
const (
	Ack     OpKind = "ack"     // attempt: the work is done
	Nack    OpKind = "nack"    // attempt: the work failed; the item is ready after Delay, or dead at max_attempts
	Release OpKind = "release" // attempt: the worker gives the item back to its place in its level; not a failure
	Extend  OpKind = "extend"  // attempt: the lease ends Delay from now (0 = the queue's lease)
	Suspend OpKind = "suspend" // attempt or 0: the item waits for the next of suspend_steps
	Store   OpKind = "store"   // attempt or 0: the item is stored for Delay; its suspends start again at zero
	Finish  OpKind = "finish"  // 0: the item is done without a lease
	// Assign takes an attempt or 0: only Worker gets the item; "" = any worker again. A leased item is passed on
	// without a failure. A delayed, suspended or stored item keeps its due time.
	Assign  OpKind = "assign"
	Remove  OpKind = "remove"  // 0: the item is removed; with Force even while it is leased
	Requeue OpKind = "requeue" // 0: a dead item is ready again; its failures start again at zero
	Set     OpKind = "set"     // 0: the item gets another priority, order or payload: see Op.Set
)

// Op is one operation.
type Op struct {
	Kind    OpKind
	ID      string
	Attempt int
	Delay   time.Duration
	Worker  string
	Force   bool
	Note    string // the reason, for the trace
	Set     *Setting
	// Remove: Item.Seq of the item to remove. An item with the same id that has begun a later life stays. 0 = any Seq
	Seq int64
}

// Setting is what the operation Set gives an item. A zero or nil field leaves the item's value as it is.
type Setting struct {
	Priority int           // 1 … 5
	Order    *ServiceOrder // Given false = the time when the item became ready
	// Source is the Seq of the refused record whose payload the item takes. With Source set, a leased item takes all
	// of the setting only when it waits again.
	Source  int64
	Payload []byte // payload of the source
}

// Outcome is the result of an operation.
type Outcome string

// The outcomes. Only OK has changed anything.
const (
	OK Outcome = "ok"
	// LeaseLost: the named attempt is over: its lease ran out, or the item moved on or ended.
	LeaseLost    Outcome = "lease_lost"
	NotFound     Outcome = "item_not_found" // No item has the id, and the operation names no attempt.
	IsLeased     Outcome = "item_leased"    // A worker has the item, and the operation names no attempt.
	SuspendLimit Outcome = "suspend_limit"  // The item has used every suspend step: store or finish it.
	NotDead      Outcome = "item_not_dead"
	IsDead       Outcome = "item_dead" // requeue or remove it
)

// Result is the answer for one operation; the answers are in the order of the call.
type Result struct {
	Kind    OpKind
	ID      string
	Outcome Outcome
	State   State     // with OK: state of the item after the operation
	Due     time.Time // with OK: as Item.Due
}

// Step is one call of a worker or an operator. It carries out operations on existing items, and then gives out up to
// Max more items.
type Step struct {
	Test      bool
	Caller                  // Worker is needed with Max > 0
	By        string        // name of the caller in the trace; "" = Caller.Name
	RequestID string        // A repeated call with the same id by the same caller gets the same answer; "" = none.
	Ops       []Op          // at most MaxBatch
	Order     *Order        // the audit record for operations that are orders; nil = no record
	Max       int           // 0 … MaxBatch
	Lease     time.Duration // 0 = the queue's
	Wait      time.Duration // how long the call may wait for a first item
}

// Stepped is the answer to a Step.
type Stepped struct {
	Results []Result
	Items   []Lease
}

// Caller identifies who calls a queue.
type Caller struct {
	// Subject of the token: it owns the leases, requests and attempts. "" = there are no tokens, and Worker alone
	// names the caller.
	Subject string
	Worker  string // tells the devices of one subject apart
	Scope   Scope
	// OwnLeases refuses operations on attempts that another subject holds, with the same answer as for expired
	// leases.
	OwnLeases bool
}

// Name returns the caller as leases and traces have it: <subject>/<worker>, or only one of them where the other is
// empty. An item assigned to a full name goes to that worker only. An item assigned to a subject goes to all workers
// of the subject.
func (c *Caller) Name() string {
	if c.Subject == "" || c.Worker == "" {
		return c.Subject + c.Worker
	}
	return c.Subject + NameSeparator + c.Worker
}

// NameSeparator separates the subject from the worker in a caller's name. Neither of them contains it.
const NameSeparator = "/"

// Scope lists the warehouses whose items a caller may see and change. Items of other warehouses are answered like
// unknown items. Nil means all warehouses and the items without a warehouse.
type Scope []string

// Has tells whether items of the warehouse are in the scope.
func (s Scope) Has(warehouse string) bool {
	return s == nil || warehouse != "" && slices.Contains(s, warehouse)
}

// Order is an operator's order to a queue: finish, assign, remove, requeue or set items, pause or resume the queue, or
// change its settings. Work of workers is no order. It travels with the moves that it causes, and the ledger records
// both in one transaction. An order without effect leaves no record.
type Order struct {
	By, Via        string          // who asks, and how they were authenticated: see ledger.Author; both are required
	Action, Object string          // action and object of the record, as queue.remove and queue:replenishment
	Reason         string          // "" = none was given
	Asked          json.RawMessage // what the operator asked for; nil = the operations say it
	// Name of the record's field with the number of changed items, as removed; "" = the record lists the items.
	Count string
}

// Change is the audit record of an order that changed something.
type Change struct {
	Order

	At   time.Time       // when the order was carried out
	Done json.RawMessage // what was done, of bounded size: a number of items, or the operations
}

// Bulk is an order about many items.
type Bulk struct {
	Test  bool
	Scope Scope
	By    string // name of the caller in the trace
	Order *Order // nil = no audit record
}

// InvalidError says what is wrong with a call of a queue.
type InvalidError struct {
	// Field is the name in the API: id, priority, payload, dedupeKey, delay, attempt, note, op, worker, lease, max,
	// wait, requestId, items, ops, state, from, to, limit, after.
	Field   string
	Index   int // index in the list of items or operations; -1 = the field is outside these lists
	Message string
}

// Error names the field and says what is wrong with it.
func (e *InvalidError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("%s: %s", e.Field, e.Message)
	}
	return fmt.Sprintf("[%d].%s: %s", e.Index, e.Field, e.Message)
}

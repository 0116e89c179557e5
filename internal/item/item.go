package item

import (
	"encoding/json"
	"fmt"
	"time"
)

// The limits of one item and of one call.
const (
	MaxPayload = 64 << 10 // bytes
	MaxBatch   = 1000     // items in one call
	MaxName    = 128      // bytes of an id or a worker's name
	MaxKey     = 512      // bytes of a dedupe key
	MaxNote    = 500      // bytes of a note; longer ones are cut

	MaxWarehouse = 64  // bytes of a warehouse's name
	MaxSubject   = 160 // bytes of a subject
)

// The priorities: 5 is served first.
const (
	LowestPriority  = 1
	DefaultPriority = 3
	HighestPriority = 5

	Levels = HighestPriority - LowestPriority + 1 // how many priorities there are
)

// New is an item to push.
type New struct {
	ID        string       // "" = the queue makes one
	Warehouse string       // "" = no warehouse: then only callers for all warehouses see the item
	Priority  int          // 1 … 5
	Order     ServiceOrder // order within the priority
	Payload   json.RawMessage
	DedupeKey string        // "" = none. The queue refuses the item while another item of the warehouse holds the key.
	Delay     time.Duration // time until the item is ready
	Created   time.Time     // zero = now; decides the day of the dedupe key
	// The finding that the item is about; "" = none. A resolution of the finding removes the item, unless a worker has
	// it.
	Subject string
	Again   bool   // An item with this id that has ended begins a new life; needs ID.
	Request string // With Again: id of the request. A repeated request does not begin another life. "" = none
}

// PushOutcome is the result of a push for one item.
type PushOutcome string

// The outcomes of a push.
const (
	Pushed PushOutcome = "pushed"
	// Exists: the queue has an item with this id, or had one and Again was not set. Nothing changed.
	Exists    PushOutcome = "exists"
	Duplicate PushOutcome = "duplicate" // Another item of the warehouse holds the dedupe key: see PushResult.Of.
	IDTaken   PushOutcome = "id_taken"  // An item of another warehouse has, or had, the id. Nothing was pushed.
)

// PushResult is the answer for one item; the answers are in the order of the call.
type PushResult struct {
	ID      string
	Outcome PushOutcome
	Of      string // with Duplicate: id of the item that holds the key
}

// Item is an item in its present state.
type Item struct {
	ID        string
	Warehouse string // "" = none
	State     State
	Priority  int
	Order     ServiceOrder // order within the priority
	Payload   json.RawMessage
	// Number of the lease: it grows with every lease. It jumps by thousands when nodes rebuild a lost index.
	Attempt  int
	Failures int // nacks and expired leases since the item was pushed or requeued; at max_attempts the item is dead
	Suspends int // suspends since the item was pushed or stored
	Created  time.Time
	Ready    time.Time // when the item last became ready; zero before the first time, and when it has ended
	// Leased: end of the lease. Delayed, suspended, stored: when the item becomes ready. Dead: when it died.
	// Otherwise zero.
	Due      time.Time
	Worker   string // who holds the lease: see Caller.Name
	News     bool   // leased: a new priority, order or payload waits for the end of the lease
	Assignee string // who alone gets the item: a worker, or all workers of a subject; "" = any worker
	Moves    int64  // number of changes of state
	Seq      int64  // the ledger's number; 0 without a ledger
	Bucket   string // identifies the dedupe key and its window; "" = none
}

// Score is the place of a ready item in the order of service, as a number below 2^53. The item with the lowest score
// is served first. The score is (5 − priority) × 10^13 plus the item's order. An item without an order has the time
// at which it became ready, in ms since 1970.
func (i *Item) Score() int64 {
	order := i.Ready.UnixMilli()
	if i.Order.Given {
		order = i.Order.Thousandths / 1000
	}
	return int64(HighestPriority-i.Priority)*1e13 + order
}

// Lease is an item that a worker has received.
type Lease struct {
	ID        string
	Warehouse string
	Attempt   int // number of the lease; operations must name it
	Priority  int
	Order     ServiceOrder
	Payload   json.RawMessage
	Until     time.Time // end of the lease; then the item goes back to its place in its level
	Created   time.Time
	Failures  int
	Suspends  int
}

// State is the state of an item.
type State string

// The states. The last three are ends: an item never leaves them.
const (
	Ready  State = "ready"  // The item waits for a worker.
	Leased State = "leased" // A worker has the item until its lease ends.
	// Delayed: the item becomes ready at its due time: somebody pushed it or put it back with a delay.
	Delayed   State = "delayed"
	Suspended State = "suspended" // A worker put the item off for one of the queue's suspend_steps.
	Stored    State = "stored"    // Somebody put the item away, typically for days.
	Dead      State = "dead"      // The item failed max_attempts times. It stays until somebody requeues or removes it.
	Done      State = "done"      // Its worker acked the item, or an operator finished it.
	Removed   State = "removed"   // An operator removed the item, or its subject has resolved.
	Refused   State = "refused"   // The queue never took the item: another item held its dedupe key.
)

// letters are the codes of the states in Redis and in traces.
var letters = map[State]byte{
	Ready: 'r', Leased: 'l', Delayed: 'y', Suspended: 's', Stored: 't', Dead: 'x', Done: 'd', Removed: 'm', Refused: 'f',
}

// Letter returns the code of the state in Redis and in traces; - before the first state.
func (s State) Letter() string {
	if l, ok := letters[s]; ok {
		return string(l)
	}
	return "-"
}

// Ended tells whether the state is an end.
func (s State) Ended() bool { return s == Done || s == Removed || s == Refused }

// Valid tells whether the state exists.
func (s State) Valid() bool { return letters[s] != 0 }

// FromLetter is the reverse of Letter; "-" gives "", the state before the first.
func FromLetter(letter string) (State, error) {
	if letter == "-" {
		return "", nil
	}
	for s, l := range letters {
		if letter == string(l) {
			return s, nil
		}
	}
	return "", fmt.Errorf("item: %q is no state", letter)
}

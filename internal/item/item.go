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

// New is an item to be pushed.
type New struct {
	ID        string       // "" = the queue gives one
	Warehouse string       // that it belongs to; "" = none: only callers for all warehouses see it
	Priority  int          // 1 … 5
	Order     ServiceOrder // inside the priority
	Payload   json.RawMessage
	DedupeKey string        // "" = none; refused while another item of the warehouse holds it
	Delay     time.Duration // before it is ready
	Created   time.Time     // zero = now; decides the day of a dedupe key
	Subject   string        // what it was made of: a resolution of the same takes it back; "" = nothing
	Again     bool          // an item of the id that has ended begins a new life; needs the id
	Request   string        // with Again: names the request; the same one does not begin another life; "" = none
}

// PushOutcome is what became of an item that was pushed.
type PushOutcome string

// The outcomes of a push.
const (
	Pushed    PushOutcome = "pushed"
	Exists    PushOutcome = "exists"    // the queue has an item of that id, or had one and was not asked for it again: nothing was changed
	Duplicate PushOutcome = "duplicate" // another item of the warehouse holds the dedupe key: see PushResult.Of
	IDTaken   PushOutcome = "id_taken"  // an item of another warehouse has, or had, the id: nothing was pushed
)

// PushResult is the answer for one item, in the order of the call.
type PushResult struct {
	ID      string
	Outcome PushOutcome
	Of      string // with Duplicate: the item that holds the key
}

// Item is an item as it stands.
type Item struct {
	ID        string
	Warehouse string // "" = none
	State     State
	Priority  int
	Order     ServiceOrder // inside the priority
	Payload   json.RawMessage
	Attempt   int // grows with every lease and names it; it jumps by thousands when a lost index is written back
	Failures  int // nacks and leases that ran out since it was pushed or requeued; at max_attempts it is dead
	Suspends  int // since it was pushed or stored
	Created   time.Time
	Ready     time.Time // when it last became ready; zero before the first time and when it has ended
	Due       time.Time // leased: end of the lease; delayed, suspended, stored: when it becomes ready; dead: when it died; else zero
	Worker    string    // who has the lease: see Caller.Name
	News      bool      // leased: it takes another priority, order or payload when it waits again
	Assignee  string    // who alone gets it, a worker or all workers of a subject; "" = any
	Moves     int64     // how often its state has changed
	Seq       int64     // the ledger's number; 0 without a ledger
	Bucket    string    // names its dedupe key and window; "" = none
}

// Score is the place of a ready item in the order of the queue, as a number: the lower is served first. It is
// (5 − priority) × 10^13 + the item's order, which is the ms since 1970 when it became ready where the item has none, below 2^53.
func (i *Item) Score() int64 {
	order := i.Ready.UnixMilli()
	if i.Order.Given {
		order = i.Order.Thousandths / 1000
	}
	return int64(HighestPriority-i.Priority)*1e13 + order
}

// Lease is an item that a worker was given.
type Lease struct {
	ID        string
	Warehouse string
	Attempt   int // operations name it
	Priority  int
	Order     ServiceOrder
	Payload   json.RawMessage
	Until     time.Time // then the item goes back to its place in its level
	Created   time.Time
	Failures  int
	Suspends  int
}

// State is where an item is in its life.
type State string

// The states. The last three are ends: an item never leaves them.
const (
	Ready     State = "ready"     // waits for a worker
	Leased    State = "leased"    // a worker has it, until its lease ends
	Delayed   State = "delayed"   // becomes ready at its due time: pushed or put back with a delay
	Suspended State = "suspended" // put off by a worker for one of the queue's suspend_steps
	Stored    State = "stored"    // put away for days
	Dead      State = "dead"      // failed max_attempts times; kept until it is requeued or removed
	Done      State = "done"      // acked by its worker, or finished by an operator
	Removed   State = "removed"   // taken out by an operator, or because what it was made of has resolved
	Refused   State = "refused"   // never came in: another item held its dedupe key
)

// letters are the states as Redis and the trace have them.
var letters = map[State]byte{
	Ready: 'r', Leased: 'l', Delayed: 'y', Suspended: 's', Stored: 't', Dead: 'x', Done: 'd', Removed: 'm', Refused: 'f',
}

// Letter is the state in one character, as Redis and the trace have it: - before the first.
func (s State) Letter() string {
	if l, ok := letters[s]; ok {
		return string(l)
	}
	return "-"
}

// Ended tells whether an item in the state is finished for good.
func (s State) Ended() bool { return s == Done || s == Removed || s == Refused }

// Valid tells whether there is such a state.
func (s State) Valid() bool { return letters[s] != 0 }

// FromLetter returns the state that the letter stands for; "-" is "", the state before the first.
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

package wire

import (
	"encoding/xml"
	"time"
)

// QueuesForm is every queue.
type QueuesForm struct {
	XMLName xml.Name    `json:"-" xml:"queues"`
	Queues  []QueueForm `json:"queues" xml:"queue" doc:"in the order of their names" nullable:"false"`
}

// QueueForm is how full a queue is.
type QueueForm struct {
	XMLName   xml.Name     `json:"-" xml:"queue"`
	Name      string       `json:"name" xml:"name"`
	Test      bool         `json:"test,omitempty" xml:"test,omitempty" doc:"this is the test twin"`
	Ready     int64        `json:"ready" xml:"ready" doc:"that any worker may take"`
	Assigned  int64        `json:"assigned" xml:"assigned" doc:"ready for one worker alone"`
	Leased    int64        `json:"leased" xml:"leased"`
	Delayed   int64        `json:"delayed" xml:"delayed"`
	Suspended int64        `json:"suspended" xml:"suspended"`
	Stored    int64        `json:"stored" xml:"stored"`
	Dead      int64        `json:"dead" xml:"dead"`
	DeadSince *time.Time   `json:"deadSince,omitempty" xml:"deadSince,omitempty" doc:"when the first of the dead died"`
	Levels    []LevelForm  `json:"levels" xml:"levels>level" doc:"what is ready, by priority, in the order of service" nullable:"false"`
	Recent    MovedForm    `json:"recent" xml:"recent" doc:"what has moved of late, on all nodes together; begins anew when Redis has lost its data"`
	Paused    bool         `json:"paused" xml:"paused" doc:"nothing is leased until it is resumed"`
	PausedBy  string       `json:"pausedBy,omitempty" xml:"pausedBy,omitempty"`
	PausedAt  *time.Time   `json:"pausedAt,omitempty" xml:"pausedAt,omitempty"`
	Settings  SettingsForm `json:"settings" xml:"settings" doc:"that are in force"`

	Warehouses []DepthForm `json:"warehouses" xml:"warehouses>warehouse" doc:"of which the figures above are the sums, by name" nullable:"false"`
}

// DepthForm is how much of a queue belongs to one warehouse.
type DepthForm struct {
	Warehouse string `json:"warehouse" xml:"name,attr" doc:"empty: what belongs to no warehouse"`
	Ready     int64  `json:"ready" xml:"ready"`
	Assigned  int64  `json:"assigned" xml:"assigned"`
	Leased    int64  `json:"leased" xml:"leased"`
	Delayed   int64  `json:"delayed" xml:"delayed"`
	Suspended int64  `json:"suspended" xml:"suspended"`
	Stored    int64  `json:"stored" xml:"stored"`
	Dead      int64  `json:"dead" xml:"dead"`
}

// MovedForm is what moved in a queue.
type MovedForm struct {
	Seconds float64 `json:"seconds" xml:"seconds,attr" doc:"that were counted: the last five minutes, and up to ten seconds more"`
	Pushed  int64   `json:"pushed" xml:"pushed" doc:"items that were taken in"`
	Done    int64   `json:"done" xml:"done" doc:"items that were acked or finished"`
	Failed  int64   `json:"failed" xml:"failed" doc:"attempts that were nacked, or whose leases ran out"`
	Dead    int64   `json:"dead" xml:"dead" doc:"items that died of such an attempt"`
}

// LevelForm is the ready part of one priority.
type LevelForm struct {
	Priority      int        `json:"priority" xml:"priority,attr"`
	Ready         int64      `json:"ready" xml:"ready"`
	Oldest        *time.Time `json:"oldest,omitempty" xml:"oldest,omitempty" doc:"when the first of them became ready, of the warehouse where that is longest ago"`
	OldestSeconds float64    `json:"oldestSeconds,omitempty" xml:"oldestSeconds,omitempty" doc:"how long ago that was"`
}

// TwinForm says whether the test twin is meant.
type TwinForm struct {
	Test bool `json:"test,omitempty" doc:"the test twin"`
}

// PushForm is a list of items to be pushed.
type PushForm struct {
	Items []PushItemForm `json:"items" minItems:"1" maxItems:"1000" nullable:"false"`
}

// PushItemForm is an item to be pushed.
type PushItemForm struct {
	ID        string  `json:"id,omitempty" maxLength:"128" doc:"who pushes again what has an id pushes it once; given by the queue by default"`
	Warehouse string  `json:"warehouse,omitempty" digits:"true" maxLength:"64" doc:"that the item belongs to: tokens of other warehouses do not see it. A token of one warehouse need not name it; without one only tokens for all warehouses see the item" example:"119240"`
	Priority  int     `json:"priority,omitempty" minimum:"1" maximum:"5" default:"3" doc:"5 is served first"`
	Order     string  `json:"order,omitempty" digits:"decimal" maxLength:"40" doc:"decides inside the priority, the lowest first: a number with at most three digits behind the point, or a time, which counts as its milliseconds since 1970. By default the time when the item becomes ready" example:"2026-05-01T14:00:00Z"`
	Payload   Payload `json:"payload"`
	DedupeKey string  `json:"dedupeKey,omitempty" maxLength:"512" doc:"refused while another item of the warehouse holds the same key"`
	Delay     string  `json:"delay,omitempty" doc:"before it is ready: a duration in s, m, h, d" example:"10m"`
	Again     bool    `json:"again,omitempty" doc:"an item of the id that has ended begins a new life, and its trace goes on. Under an Idempotency-Key a repeated request begins no other"`
	Test      bool    `json:"test,omitempty" doc:"it goes into the test twin; all items of a push say the same"`
}

// PushedForm is what became of the items of a push.
type PushedForm struct {
	XMLName xml.Name         `json:"-" xml:"pushed"`
	Items   []PushedItemForm `json:"items" xml:"item" doc:"in the order of the request" nullable:"false"`
}

// PushedItemForm is what became of one item.
type PushedItemForm struct {
	ID      string `json:"id" xml:"id"`
	Outcome string `json:"outcome" xml:"outcome" enum:"pushed,exists,duplicate,id_taken" doc:"exists: the queue has the item, or had it and was not asked for it again; duplicate: another item of the warehouse holds the dedupe key; id_taken: an item of another warehouse has the id, and nothing was pushed"`
	Of      string `json:"of,omitempty" xml:"of,omitempty" doc:"duplicate: the item that holds the key"`
}

// ItemForm is an item as it stands.
type ItemForm struct {
	ID               string     `json:"id" xml:"id"`
	Warehouse        string     `json:"warehouse,omitempty" xml:"warehouse,omitempty" doc:"that it belongs to; absent: none"`
	State            string     `json:"state" xml:"state" enum:"ready,leased,delayed,suspended,stored,dead,done,removed,refused"`
	Rank             int64      `json:"rank,omitempty" xml:"rank,omitempty" doc:"in a list: its place in its state, from 1"`
	Score            int64      `json:"score,omitempty" xml:"score,omitempty" doc:"ready: its place in the order of service as a number, the lower is served first"`
	Priority         int        `json:"priority" xml:"priority"`
	Order            string     `json:"order,omitempty" xml:"order,omitempty" doc:"inside the priority, as a number: the lowest is served first; absent: since when it is ready"`
	Title            string     `json:"title,omitempty" xml:"title,omitempty" doc:"of the notice that it was made of, in the language of the request; lists and single items alone have it"`
	Payload          Payload    `json:"payload" xml:"payload"`
	Attempt          int        `json:"attempt" xml:"attempt" doc:"of its last lease"`
	Failures         int        `json:"failures" xml:"failures"`
	Suspends         int        `json:"suspends" xml:"suspends"`
	CreatedAt        time.Time  `json:"createdAt" xml:"createdAt"`
	ReadyAt          *time.Time `json:"readyAt,omitempty" xml:"readyAt,omitempty" doc:"when it last became ready; absent before the first time and where it has ended"`
	Due              *time.Time `json:"due,omitempty" xml:"due,omitempty" doc:"leased: the lease ends; delayed, suspended, stored: it becomes ready; dead: it died"`
	RemainingSeconds *int64     `json:"remainingSeconds,omitempty" xml:"remainingSeconds,omitempty" doc:"until due; absent where it is not waited for"`
	Worker           string     `json:"worker,omitempty" xml:"worker,omitempty" doc:"who has the lease: <subject>/<worker>, a worker where there are no tokens"`
	Assignee         string     `json:"assignee,omitempty" xml:"assignee,omitempty" doc:"who alone gets it: as worker, or a subject"`
	News             bool       `json:"news,omitempty" xml:"news,omitempty" doc:"leased: its finding was sent again, and it takes the new priority, order and payload when it waits again"`
}

// ItemsForm is a part of a queue.
type ItemsForm struct {
	XMLName xml.Name   `json:"-" xml:"items"`
	Items   []ItemForm `json:"items" xml:"item" nullable:"false"`
	Cursor  string     `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
}

// WorkersForm is the workers that a queue knows, the latest lease first.
type WorkersForm struct {
	XMLName xml.Name     `json:"-" xml:"workers"`
	Workers []WorkerForm `json:"workers" xml:"worker" nullable:"false"`
}

// WorkerForm is somebody who holds or held leases, or to whom items are assigned.
type WorkerForm struct {
	Name      string     `json:"name" xml:"name" doc:"as an item is assigned to"`
	Leased    int        `json:"leased" xml:"leased" doc:"items that the worker holds"`
	Assigned  int        `json:"assigned" xml:"assigned" doc:"items that wait for the worker alone"`
	LastLease *time.Time `json:"lastLease,omitempty" xml:"lastLease,omitempty" doc:"when the worker leased last; absent where that is long ago"`
}

// TracedItemForm is an item and what has happened to it.
type TracedItemForm struct {
	XMLName xml.Name `json:"-" xml:"item"`
	ItemForm
	Trace []MoveForm `json:"trace" xml:"trace>move" doc:"its push, then every change, of all its lives; empty where the queue has no ledger" nullable:"false"`
}

// MoveForm is one change of an item: of its state, or of what it is.
type MoveForm struct {
	N        int64      `json:"n" xml:"n,attr" doc:"counts the item's moves; 0 is its push"`
	At       time.Time  `json:"at" xml:"at"`
	From     string     `json:"from,omitempty" xml:"from,omitempty" doc:"absent for the push"`
	To       string     `json:"to" xml:"to" enum:"ready,leased,delayed,suspended,stored,dead,done,removed,refused"`
	Attempt  int        `json:"attempt" xml:"attempt"`
	Failures int        `json:"failures" xml:"failures"`
	Suspends int        `json:"suspends" xml:"suspends"`
	Due      *time.Time `json:"due,omitempty" xml:"due,omitempty"`
	Assignee string     `json:"assignee,omitempty" xml:"assignee,omitempty"`
	By       string     `json:"by,omitempty" xml:"by,omitempty" doc:"the worker or operator; absent where the queue did it itself"`
	Node     string     `json:"node" xml:"node"`
	Note     string     `json:"note,omitempty" xml:"note,omitempty" doc:"why"`

	Revision *RevisionForm `json:"revision,omitempty" xml:"revision,omitempty" doc:"what it has become; absent: it is as it was"`
}

// RevisionForm is what an item has become.
type RevisionForm struct {
	Priority int    `json:"priority" xml:"priority"`
	Order    string `json:"order,omitempty" xml:"order,omitempty"`
	Payload  bool   `json:"payload,omitempty" xml:"payload,omitempty" doc:"it has another payload, too"`
	Later    bool   `json:"later,omitempty" xml:"later,omitempty" doc:"it was leased, and takes all that when it waits again"`
}

// RankForm is the place of an item that is ready.
type RankForm struct {
	XMLName xml.Name `json:"-" xml:"rank"`
	ID      string   `json:"id" xml:"id"`
	Rank    int64    `json:"rank" xml:"rank" doc:"1 is served next"`
	Score   int64    `json:"score" xml:"score" doc:"the lower is served first"`
}

// RangeForm is a range of a list of items.
type RangeForm struct {
	Warehouse string `json:"warehouse,omitempty" digits:"true" doc:"of this warehouse alone, as the list with the same parameter"`
	State     string `json:"state" enum:"ready,assigned,delayed,suspended,stored,dead"`
	From      int64  `json:"from" minimum:"1" doc:"the rank of the first, as the list of the state has it"`
	To        int64  `json:"to" minimum:"1" doc:"the rank of the last"`
	Test      bool   `json:"test,omitempty" doc:"of the test twin"`
}

// RemovedForm says how many items were taken out.
type RemovedForm struct {
	XMLName xml.Name `json:"-" xml:"removed"`
	Removed int      `json:"removed" xml:"removed"`
}

// RequeueForm names dead items.
type RequeueForm struct {
	IDs  []string `json:"ids,omitempty" maxItems:"1000" nullable:"false" doc:"these"`
	All  bool     `json:"all,omitempty" doc:"every dead item, instead of ids"`
	Test bool     `json:"test,omitempty" doc:"of the test twin"`
}

// RequeuedForm says what became of them.
type RequeuedForm struct {
	XMLName  xml.Name     `json:"-" xml:"requeued"`
	Requeued int          `json:"requeued" xml:"requeued" doc:"that are ready again"`
	Results  []ResultForm `json:"results,omitempty" xml:"results>result,omitempty" doc:"of those that were named, in their order" nullable:"false"`
}

// LeaseForm asks for items.
type LeaseForm struct {
	Worker string `json:"worker" minLength:"1" doc:"which device of the token's subject asks: a name that none of its others has; without tokens, a name that no other worker of the queue has" example:"packer-7"`
	Max    int    `json:"max,omitempty" minimum:"1" maximum:"1000" default:"1" doc:"items at most"`
	Terms
}

// StepForm is a batch of operations, and asks for items.
type StepForm struct {
	Worker string   `json:"worker,omitempty" doc:"which device of the token's subject asks: a name that none of its others has; without tokens, a name that no other worker of the queue has. Needed where items are asked for" example:"packer-7"`
	Ops    []OpForm `json:"ops,omitempty" maxItems:"1000" doc:"done in order, before items are leased" nullable:"false"`
	Max    int      `json:"max,omitempty" minimum:"0" maximum:"1000" default:"0" doc:"items at most"`
	Terms
}

// Terms are how items are leased.
type Terms struct {
	RequestID string `json:"requestId,omitempty" doc:"a worker that repeats its last request under the same id gets the same answer, and nothing is done twice. It belongs to the token's subject and the worker"`
	Wait      string `json:"wait,omitempty" doc:"hold the answer back until there is an item, at most that long: a duration up to 60s. After 55s an answer comes in any case" example:"25s"`
	Lease     string `json:"lease,omitempty" doc:"how long the items are the worker's, the queue's lease by default. In s, m, h, d" example:"60s"`
	Test      bool   `json:"test,omitempty" doc:"the test twin"`
}

// OpForm is one operation of a step.
type OpForm struct {
	Op string `json:"op" enum:"ack,nack,release,extend,suspend,store,finish,assign,remove,requeue,set"`
	ID string `json:"id" doc:"the item"`
	OpFields
	Worker *string `json:"worker,omitempty" doc:"assign: who alone gets the item, <subject>/<worker> or <subject> for all its workers, a worker where there are no tokens; empty = anybody again"`
	Force  bool    `json:"force,omitempty" doc:"remove: even while it is leased"`
}

// OpFields are what operations may need.
type OpFields struct {
	Attempt int    `json:"attempt,omitempty" minimum:"1" doc:"of the lease that the operation belongs to: ack, nack, release and extend need it, suspend, store and assign take it"`
	Delay   string `json:"delay,omitempty" doc:"nack: before it is ready again; store: for how long. In s, m, h, d" example:"10m"`
	Days    int    `json:"days,omitempty" minimum:"1" maximum:"366" doc:"store: for how many days, instead of delay"`
	Lease   string `json:"lease,omitempty" doc:"extend: the lease ends that long from now, the queue's lease by default. In s, m, h, d" example:"5m"`
	Note    string `json:"note,omitempty" text:"lines" maxLength:"4096" doc:"why, for the trace; cut at 500 bytes"`

	Priority int     `json:"priority,omitempty" minimum:"1" maximum:"5" doc:"set: 5 is served first"`
	Order    *string `json:"order,omitempty" digits:"decimal" maxLength:"40" doc:"set: as in a push; empty: the time when it became ready" example:"2026-05-01T14:00:00Z"`
}

// ItemOpForm is an operation on the item of the path.
type ItemOpForm struct {
	OpFields
	Worker *string `json:"worker,omitempty" doc:"which device of the token's subject does it, for the trace; assign: who alone gets the item, <subject>/<worker> or <subject> for all its workers, a worker where there are no tokens, empty = anybody again"`
	Test   bool    `json:"test,omitempty" doc:"the item is in the test twin"`
}

// LeasedItemsForm are the items that a worker was given.
type LeasedItemsForm struct {
	XMLName xml.Name     `json:"-" xml:"leased"`
	Items   []LeasedForm `json:"items" xml:"item" doc:"in the order of service" nullable:"false"`
}

// LeasedForm is an item that a worker was given.
type LeasedForm struct {
	ID         string    `json:"id" xml:"id"`
	Warehouse  string    `json:"warehouse,omitempty" xml:"warehouse,omitempty" doc:"that it belongs to; absent: none"`
	Attempt    int       `json:"attempt" xml:"attempt" doc:"operations name it"`
	Priority   int       `json:"priority" xml:"priority"`
	Order      string    `json:"order,omitempty" xml:"order,omitempty" doc:"inside the priority; absent: none was given"`
	Payload    Payload   `json:"payload" xml:"payload"`
	LeaseUntil time.Time `json:"leaseUntil" xml:"leaseUntil" doc:"then another worker gets it"`
	CreatedAt  time.Time `json:"createdAt" xml:"createdAt"`
	Failures   int       `json:"failures" xml:"failures" doc:"how often it was put back as failed, or its lease ran out"`
	Suspends   int       `json:"suspends" xml:"suspends" doc:"how often it was suspended"`
}

// SteppedForm is the answer to a step.
type SteppedForm struct {
	XMLName xml.Name     `json:"-" xml:"step"`
	Results []ResultForm `json:"results" xml:"results>result" doc:"of the operations, in their order" nullable:"false"`
	Items   []LeasedForm `json:"items" xml:"items>item" doc:"in the order of service" nullable:"false"`
}

// ResultForm is what became of an operation.
type ResultForm struct {
	XMLName xml.Name   `json:"-" xml:"result"`
	Op      string     `json:"op" xml:"op"`
	ID      string     `json:"id" xml:"id"`
	Outcome string     `json:"outcome" xml:"outcome" enum:"ok,lease_lost,item_not_found,item_leased,suspend_limit,item_not_dead,item_dead" doc:"all but ok have changed nothing"`
	State   string     `json:"state,omitempty" xml:"state,omitempty" enum:"ready,leased,delayed,suspended,stored,dead,done,removed" doc:"ok: how the item stands now"`
	Due     *time.Time `json:"due,omitempty" xml:"due,omitempty" doc:"ok: when the lease ends, or when it becomes ready"`
}

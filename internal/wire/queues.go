package wire

import (
	"encoding/xml"
	"time"
)

// QueuesForm is all queues.
type QueuesForm struct {
	XMLName xml.Name    `json:"-" xml:"queues"`
	Queues  []QueueForm `json:"queues" xml:"queue" doc:"in the order of their names" nullable:"false"`
}

// QueueForm is the depth and the throughput of a queue.
type QueueForm struct {
	XMLName   xml.Name     `json:"-" xml:"queue"`
	Name      string       `json:"name" xml:"name"`
	Test      bool         `json:"test,omitempty" xml:"test,omitempty" doc:"true for the test twin"`
	Ready     int64        `json:"ready" xml:"ready" doc:"number of ready items that any worker may lease"`
	Assigned  int64        `json:"assigned" xml:"assigned" doc:"number of ready items that only one worker may lease"`
	Leased    int64        `json:"leased" xml:"leased"`
	Delayed   int64        `json:"delayed" xml:"delayed"`
	Suspended int64        `json:"suspended" xml:"suspended"`
	Stored    int64        `json:"stored" xml:"stored"`
	Dead      int64        `json:"dead" xml:"dead"`
	DeadSince *time.Time   `json:"deadSince,omitempty" xml:"deadSince,omitempty" doc:"when the first of the dead items died"`
	Levels    []LevelForm  `json:"levels" xml:"levels>level" doc:"the ready items by priority, in the order of service" nullable:"false"`
	Recent    MovedForm    `json:"recent" xml:"recent" doc:"recent throughput of all nodes together. The counts begin again after Redis has lost its data"`
	Paused    bool         `json:"paused" xml:"paused" doc:"while true, no item is leased until an operator resumes the queue"`
	PausedBy  string       `json:"pausedBy,omitempty" xml:"pausedBy,omitempty"`
	PausedAt  *time.Time   `json:"pausedAt,omitempty" xml:"pausedAt,omitempty"`
	Settings  SettingsForm `json:"settings" xml:"settings" doc:"the settings in force"`

	Warehouses []DepthForm `json:"warehouses" xml:"warehouses>warehouse" doc:"the same counts for each warehouse, by name; the counts above are their sums" nullable:"false"`
}

// DepthForm is the depth of a queue for one warehouse.
type DepthForm struct {
	Warehouse string `json:"warehouse" xml:"name,attr" doc:"empty for items that belong to no warehouse"`
	Ready     int64  `json:"ready" xml:"ready"`
	Assigned  int64  `json:"assigned" xml:"assigned"`
	Leased    int64  `json:"leased" xml:"leased"`
	Delayed   int64  `json:"delayed" xml:"delayed"`
	Suspended int64  `json:"suspended" xml:"suspended"`
	Stored    int64  `json:"stored" xml:"stored"`
	Dead      int64  `json:"dead" xml:"dead"`
}

// MovedForm is the throughput of a queue.
type MovedForm struct {
	Seconds float64 `json:"seconds" xml:"seconds,attr" doc:"length of the counted time: the last five minutes and up to ten seconds more"`
	Pushed  int64   `json:"pushed" xml:"pushed" doc:"items that the queue accepted"`
	Done    int64   `json:"done" xml:"done" doc:"items that were acked or finished"`
	Failed  int64   `json:"failed" xml:"failed" doc:"attempts that ended with a nack or with an expired lease"`
	Dead    int64   `json:"dead" xml:"dead" doc:"items that became dead after such an attempt"`
}

// LevelForm is the ready items of one priority.
type LevelForm struct {
	Priority      int        `json:"priority" xml:"priority,attr"`
	Ready         int64      `json:"ready" xml:"ready"`
	Oldest        *time.Time `json:"oldest,omitempty" xml:"oldest,omitempty" doc:"since when the oldest of these items has been ready, over all warehouses"`
	OldestSeconds float64    `json:"oldestSeconds,omitempty" xml:"oldestSeconds,omitempty" doc:"age of the oldest of these items, in seconds"`
}

// TwinForm chooses between a queue and its test twin.
type TwinForm struct {
	Test bool `json:"test,omitempty" doc:"true for the test twin of the queue"`
}

// PushForm is a list of items to push.
type PushForm struct {
	Items []PushItemForm `json:"items" minItems:"1" maxItems:"1000" nullable:"false"`
}

// PushItemForm is an item to push.
type PushItemForm struct {
	ID        string  `json:"id,omitempty" maxLength:"128" doc:"id of the item. A push that is repeated with the same id adds no second item. The queue chooses an id by default"`
	Warehouse string  `json:"warehouse,omitempty" digits:"true" maxLength:"64" doc:"warehouse of the item: tokens for other warehouses do not see it. The default for a token of one warehouse is that warehouse. Only tokens for all warehouses see an item without a warehouse" example:"119240"`
	Priority  int     `json:"priority,omitempty" minimum:"1" maximum:"5" default:"3" doc:"5 is served first"`
	Order     string  `json:"order,omitempty" digits:"decimal" maxLength:"40" doc:"place among the items of the same priority, the lowest first: a number with at most three decimal places, or a time, which counts as milliseconds since 1970. The default is the time when the item becomes ready" example:"2026-05-01T14:00:00Z"`
	Payload   Payload `json:"payload"`
	DedupeKey string  `json:"dedupeKey,omitempty" maxLength:"512" doc:"the push is refused while another item of the warehouse holds the same key"`
	Delay     string  `json:"delay,omitempty" doc:"time until the item is ready: a duration in s, m, h, d" example:"10m"`
	Again     bool    `json:"again,omitempty" doc:"if the queue has an ended item with this id, the item starts again and its trace goes on. Under an Idempotency-Key a repeated request does not start it again"`
	Test      bool    `json:"test,omitempty" doc:"push into the test twin. All items of one push must have the same value"`
}

// PushedForm is the result of a push.
type PushedForm struct {
	XMLName xml.Name         `json:"-" xml:"pushed"`
	Items   []PushedItemForm `json:"items" xml:"item" doc:"results in the order of the request" nullable:"false"`
}

// PushedItemForm is the result of pushing one item.
type PushedItemForm struct {
	ID      string `json:"id" xml:"id"`
	Outcome string `json:"outcome" xml:"outcome" enum:"pushed,exists,duplicate,id_taken" doc:"pushed: the item is in the queue. exists: the queue has or had an item with this id, and again was not set. duplicate: another item of the warehouse holds the dedupe key. id_taken: an item of another warehouse has the id, and nothing was pushed"`
	Of      string `json:"of,omitempty" xml:"of,omitempty" doc:"for duplicate: id of the item that holds the key"`
}

// ItemForm is an item in its present state.
type ItemForm struct {
	ID               string     `json:"id" xml:"id"`
	Warehouse        string     `json:"warehouse,omitempty" xml:"warehouse,omitempty" doc:"warehouse of the item; absent = none"`
	State            string     `json:"state" xml:"state" enum:"ready,leased,delayed,suspended,stored,dead,done,removed,refused"`
	Rank             int64      `json:"rank,omitempty" xml:"rank,omitempty" doc:"in lists: place of the item within its state, from 1"`
	Score            int64      `json:"score,omitempty" xml:"score,omitempty" doc:"of a ready item: its place in the order of service as a number; the lowest is served first"`
	Priority         int        `json:"priority" xml:"priority"`
	Order            string     `json:"order,omitempty" xml:"order,omitempty" doc:"place among the items of the same priority as a number; the lowest is served first. Absent = the time since which the item has been ready decides"`
	Title            string     `json:"title,omitempty" xml:"title,omitempty" doc:"title of the notice from which the item was made, in the language of the request. Only lists and single items have it"`
	Payload          Payload    `json:"payload" xml:"payload"`
	Attempt          int        `json:"attempt" xml:"attempt" doc:"number of the item's last lease"`
	Failures         int        `json:"failures" xml:"failures"`
	Suspends         int        `json:"suspends" xml:"suspends"`
	CreatedAt        time.Time  `json:"createdAt" xml:"createdAt"`
	ReadyAt          *time.Time `json:"readyAt,omitempty" xml:"readyAt,omitempty" doc:"when the item last became ready; absent before the first time and after the item has ended"`
	Due              *time.Time `json:"due,omitempty" xml:"due,omitempty" doc:"leased: end of the lease. delayed, suspended, stored: when the item becomes ready. dead: when the item died"`
	RemainingSeconds *int64     `json:"remainingSeconds,omitempty" xml:"remainingSeconds,omitempty" doc:"seconds until due; absent in states that do not wait for a time"`
	Worker           string     `json:"worker,omitempty" xml:"worker,omitempty" doc:"worker that holds the lease: <subject>/<worker>, or <worker> where there are no tokens"`
	Assignee         string     `json:"assignee,omitempty" xml:"assignee,omitempty" doc:"the only worker or subject that may lease the item, written as in worker"`
	News             bool       `json:"news,omitempty" xml:"news,omitempty" doc:"true for a leased item whose finding was sent again. The item takes the new priority, order and payload when it waits again"`
}

// ItemsForm is a page of items.
type ItemsForm struct {
	XMLName xml.Name   `json:"-" xml:"items"`
	Items   []ItemForm `json:"items" xml:"item" nullable:"false"`
	Cursor  string     `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"present where there are more: send it as after to get the next page"`
}

// WorkersForm is the workers that a queue knows, the latest lease first.
type WorkersForm struct {
	XMLName xml.Name     `json:"-" xml:"workers"`
	Workers []WorkerForm `json:"workers" xml:"worker" nullable:"false"`
}

// WorkerForm is a worker that holds or held leases, or that has items assigned.
type WorkerForm struct {
	Name      string     `json:"name" xml:"name" doc:"name of the worker, as in an assignment"`
	Leased    int        `json:"leased" xml:"leased" doc:"number of items that the worker holds"`
	Assigned  int        `json:"assigned" xml:"assigned" doc:"number of items that wait for this worker only"`
	LastLease *time.Time `json:"lastLease,omitempty" xml:"lastLease,omitempty" doc:"time of the worker's last lease; absent where it is too long ago"`
}

// TracedItemForm is an item and its trace.
type TracedItemForm struct {
	XMLName xml.Name `json:"-" xml:"item"`
	ItemForm
	Trace []MoveForm `json:"trace" xml:"trace>move" doc:"the item's push and every change after it, also from before the item started again. Empty where the queue has no ledger" nullable:"false"`
}

// MoveForm is one change of an item: of its state or of its content.
type MoveForm struct {
	N        int64      `json:"n" xml:"n,attr" doc:"number of the move; 0 is the push"`
	At       time.Time  `json:"at" xml:"at"`
	From     string     `json:"from,omitempty" xml:"from,omitempty" doc:"state before the move; absent for the push"`
	To       string     `json:"to" xml:"to" enum:"ready,leased,delayed,suspended,stored,dead,done,removed,refused"`
	Attempt  int        `json:"attempt" xml:"attempt"`
	Failures int        `json:"failures" xml:"failures"`
	Suspends int        `json:"suspends" xml:"suspends"`
	Due      *time.Time `json:"due,omitempty" xml:"due,omitempty"`
	Assignee string     `json:"assignee,omitempty" xml:"assignee,omitempty"`
	By       string     `json:"by,omitempty" xml:"by,omitempty" doc:"worker or operator that made the move; absent where the queue made it"`
	Node     string     `json:"node" xml:"node"`
	Note     string     `json:"note,omitempty" xml:"note,omitempty" doc:"reason of the move"`

	Revision *RevisionForm `json:"revision,omitempty" xml:"revision,omitempty" doc:"new content of the item; absent where only the state changed"`
}

// RevisionForm is the new content of an item.
type RevisionForm struct {
	Priority int    `json:"priority" xml:"priority"`
	Order    string `json:"order,omitempty" xml:"order,omitempty"`
	Payload  bool   `json:"payload,omitempty" xml:"payload,omitempty" doc:"true where the payload changed, too"`
	Later    bool   `json:"later,omitempty" xml:"later,omitempty" doc:"true where the item was leased. It takes the new content when it waits again"`
}

// RankForm is the place of a ready item.
type RankForm struct {
	XMLName xml.Name `json:"-" xml:"rank"`
	ID      string   `json:"id" xml:"id"`
	Rank    int64    `json:"rank" xml:"rank" doc:"place of the item; 1 is served next"`
	Score   int64    `json:"score" xml:"score" doc:"place as a number; the lowest is served first"`
}

// RangeForm is a range of a list of items.
type RangeForm struct {
	Warehouse string `json:"warehouse,omitempty" digits:"true" doc:"only items of this warehouse, as in the list with the same parameter"`
	State     string `json:"state" enum:"ready,assigned,delayed,suspended,stored,dead"`
	From      int64  `json:"from" minimum:"1" doc:"rank of the first item, as in the list of the state"`
	To        int64  `json:"to" minimum:"1" doc:"rank of the last item"`
	Test      bool   `json:"test,omitempty" doc:"use the test twin"`
}

// RemovedForm is the number of removed items.
type RemovedForm struct {
	XMLName xml.Name `json:"-" xml:"removed"`
	Removed int      `json:"removed" xml:"removed"`
}

// RequeueForm chooses dead items.
type RequeueForm struct {
	IDs  []string `json:"ids,omitempty" maxItems:"1000" nullable:"false" doc:"ids of dead items"`
	All  bool     `json:"all,omitempty" doc:"every dead item, instead of ids"`
	Test bool     `json:"test,omitempty" doc:"use the test twin"`
}

// RequeuedForm is the result of requeuing dead items.
type RequeuedForm struct {
	XMLName  xml.Name     `json:"-" xml:"requeued"`
	Requeued int          `json:"requeued" xml:"requeued" doc:"number of items that are ready again"`
	Results  []ResultForm `json:"results,omitempty" xml:"results>result,omitempty" doc:"one result for each id of the request, in its order" nullable:"false"`
}

// LeaseForm asks for leases of items.
type LeaseForm struct {
	Worker string `json:"worker" minLength:"1" doc:"name of the device that asks. Each device of the token's subject needs its own name; without tokens, each worker of the queue needs its own name" example:"packer-7"`
	Max    int    `json:"max,omitempty" minimum:"1" maximum:"1000" default:"1" doc:"maximum number of items"`
	Terms
}

// StepForm is a batch of operations, and asks for leases of items.
type StepForm struct {
	Worker string   `json:"worker,omitempty" doc:"name of the device that asks. Each device of the token's subject needs its own name; without tokens, each worker of the queue needs its own name. Needed where the step asks for items" example:"packer-7"`
	Ops    []OpForm `json:"ops,omitempty" maxItems:"1000" doc:"operations; the queue does them in this order, and then leases items" nullable:"false"`
	Max    int      `json:"max,omitempty" minimum:"0" maximum:"1000" default:"0" doc:"maximum number of items"`
	Terms
}

// Terms are the fields that LeaseForm and StepForm share: the terms of the leases that a worker asks for.
type Terms struct {
	RequestID string `json:"requestId,omitempty" doc:"id of the request. A worker that repeats its last request with the same id gets the same answer, and nothing is done twice. The id belongs to the worker and the token's subject"`
	Wait      string `json:"wait,omitempty" doc:"wait for an item for at most this time: a duration up to 60s. The server answers after 55s at the latest" example:"25s"`
	Lease     string `json:"lease,omitempty" doc:"length of the lease in s, m, h, d; the queue's lease by default" example:"60s"`
	Test      bool   `json:"test,omitempty" doc:"use the test twin"`
}

// OpForm is one operation of a step.
type OpForm struct {
	Op string `json:"op" enum:"ack,nack,release,extend,suspend,store,finish,assign,remove,requeue,set"`
	ID string `json:"id" doc:"id of the item"`
	OpFields
	Worker *string `json:"worker,omitempty" doc:"for assign: the only worker that may lease the item, <subject>/<worker>, or <subject> for all workers of the subject, or <worker> where there are no tokens. Empty = any worker may lease it"`
	Force  bool    `json:"force,omitempty" doc:"for remove: remove the item even while it is leased"`
}

// OpFields are the optional fields of operations.
type OpFields struct {
	Attempt int    `json:"attempt,omitempty" minimum:"1" doc:"attempt of the lease that the operation belongs to. Needed for ack, nack, release and extend; optional for suspend, store and assign"`
	Delay   string `json:"delay,omitempty" doc:"for nack: time until the item is ready again. For store: how long it is stored. In s, m, h, d" example:"10m"`
	Days    int    `json:"days,omitempty" minimum:"1" maximum:"366" doc:"for store: number of days, instead of delay"`
	Lease   string `json:"lease,omitempty" doc:"for extend: the lease ends this long from now, in s, m, h, d; the queue's lease by default" example:"5m"`
	Note    string `json:"note,omitempty" text:"lines" maxLength:"4096" doc:"reason, for the trace; cut at 500 bytes"`

	Priority int     `json:"priority,omitempty" minimum:"1" maximum:"5" doc:"for set: new priority; 5 is served first"`
	Order    *string `json:"order,omitempty" digits:"decimal" maxLength:"40" doc:"for set: new order, as in a push. Empty = the time when the item became ready" example:"2026-05-01T14:00:00Z"`
}

// ItemOpForm is an operation on the item of the path.
type ItemOpForm struct {
	OpFields
	Worker *string `json:"worker,omitempty" doc:"device of the token's subject that does the operation, for the trace. For assign: the only worker that may lease the item, <subject>/<worker>, or <subject> for all workers of the subject, or <worker> where there are no tokens. Empty = any worker may lease it"`
	Test   bool    `json:"test,omitempty" doc:"true where the item is in the test twin"`
}

// LeasedItemsForm is the items that a worker leased.
type LeasedItemsForm struct {
	XMLName xml.Name     `json:"-" xml:"leased"`
	Items   []LeasedForm `json:"items" xml:"item" doc:"in the order of service" nullable:"false"`
}

// LeasedForm is an item that a worker leased.
type LeasedForm struct {
	ID         string    `json:"id" xml:"id"`
	Warehouse  string    `json:"warehouse,omitempty" xml:"warehouse,omitempty" doc:"warehouse of the item; absent = none"`
	Attempt    int       `json:"attempt" xml:"attempt" doc:"number of this lease; operations on the item name it"`
	Priority   int       `json:"priority" xml:"priority"`
	Order      string    `json:"order,omitempty" xml:"order,omitempty" doc:"place among the items of the same priority; absent where none was given"`
	Payload    Payload   `json:"payload" xml:"payload"`
	LeaseUntil time.Time `json:"leaseUntil" xml:"leaseUntil" doc:"end of the lease. After this time another worker may lease the item"`
	CreatedAt  time.Time `json:"createdAt" xml:"createdAt"`
	Failures   int       `json:"failures" xml:"failures" doc:"number of leases that ended with a nack or expired"`
	Suspends   int       `json:"suspends" xml:"suspends" doc:"number of times the item was suspended"`
}

// SteppedForm is the answer to a step.
type SteppedForm struct {
	XMLName xml.Name     `json:"-" xml:"step"`
	Results []ResultForm `json:"results" xml:"results>result" doc:"results of the operations, in their order" nullable:"false"`
	Items   []LeasedForm `json:"items" xml:"items>item" doc:"in the order of service" nullable:"false"`
}

// ResultForm is the result of one operation.
type ResultForm struct {
	XMLName xml.Name   `json:"-" xml:"result"`
	Op      string     `json:"op" xml:"op"`
	ID      string     `json:"id" xml:"id"`
	Outcome string     `json:"outcome" xml:"outcome" enum:"ok,lease_lost,item_not_found,item_leased,suspend_limit,item_not_dead,item_dead" doc:"every outcome other than ok means that nothing was changed"`
	State   string     `json:"state,omitempty" xml:"state,omitempty" enum:"ready,leased,delayed,suspended,stored,dead,done,removed" doc:"for ok: the new state of the item"`
	Due     *time.Time `json:"due,omitempty" xml:"due,omitempty" doc:"for ok: when the lease ends, or when the item becomes ready"`
}

package wire

import (
	"encoding/xml"
	"time"
)

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
	Op string `json:"op" enum:"ack,nack,release,extend,suspend,store,finish,assign,remove,requeue"`
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

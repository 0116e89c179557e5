package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"time"
)

// PushForm is a list of items to be pushed.
type PushForm struct {
	Items []PushItemForm `json:"items" minItems:"1" maxItems:"1000" nullable:"false"`
}

// PushItemForm is an item to be pushed.
type PushItemForm struct {
	ID        string  `json:"id,omitempty" maxLength:"128" doc:"who pushes again what has an id pushes it once; given by the queue by default"`
	Warehouse string  `json:"warehouse,omitempty" maxLength:"64" doc:"that the item belongs to: tokens of other warehouses do not see it. A token of one warehouse need not name it; without one only tokens for all warehouses see the item" example:"119240"`
	Priority  int     `json:"priority,omitempty" minimum:"1" maximum:"5" default:"3" doc:"5 is served first"`
	Payload   Payload `json:"payload"`
	DedupeKey string  `json:"dedupeKey,omitempty" maxLength:"512" doc:"refused while another item of the warehouse holds the same key"`
	Delay     string  `json:"delay,omitempty" doc:"before it is ready: a duration in s, m, h, d" example:"10m"`
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
	Outcome string `json:"outcome" xml:"outcome" enum:"pushed,exists,duplicate,id_taken" doc:"exists: the queue has or had the item; duplicate: another item of the warehouse holds the dedupe key; id_taken: an item of another warehouse has the id, and nothing was pushed"`
	Of      string `json:"of,omitempty" xml:"of,omitempty" doc:"duplicate: the item that holds the key"`
}

// Payload is an item's content: any JSON value. In XML it is the value's JSON text.
type Payload json.RawMessage

// MarshalJSON writes the value.
func (p Payload) MarshalJSON() ([]byte, error) { return json.RawMessage(p).MarshalJSON() }

// UnmarshalJSON keeps the value as it came, without the spaces between its parts: what stands in it may mean more than Go's
// numbers can hold.
func (p *Payload) UnmarshalJSON(data []byte) error {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return err
	}
	*p = b.Bytes()
	return nil
}

// MarshalXML writes the value's text.
func (p Payload) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(string(p), start)
}

// ItemForm is an item as it stands.
type ItemForm struct {
	ID               string     `json:"id" xml:"id"`
	Warehouse        string     `json:"warehouse,omitempty" xml:"warehouse,omitempty" doc:"that it belongs to; absent: none"`
	State            string     `json:"state" xml:"state" enum:"ready,leased,delayed,suspended,stored,dead,done,removed,refused"`
	Rank             int64      `json:"rank,omitempty" xml:"rank,omitempty" doc:"in a list: its place in its state, from 1"`
	Score            int64      `json:"score,omitempty" xml:"score,omitempty" doc:"ready: its place in the order of service as a number, the lower is served first"`
	Priority         int        `json:"priority" xml:"priority"`
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
}

// ItemsForm is a part of a queue.
type ItemsForm struct {
	XMLName xml.Name   `json:"-" xml:"items"`
	Items   []ItemForm `json:"items" xml:"item" nullable:"false"`
	Cursor  string     `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
}

// TracedItemForm is an item and what has happened to it.
type TracedItemForm struct {
	XMLName xml.Name `json:"-" xml:"item"`
	ItemForm
	Trace []MoveForm `json:"trace" xml:"trace>move" doc:"its push, then every change of its state; empty where the queue has no ledger" nullable:"false"`
}

// MoveForm is one change of an item's state.
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
	Warehouse string `json:"warehouse,omitempty" doc:"of this warehouse alone, as the list with the same parameter"`
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

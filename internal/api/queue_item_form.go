package api

import (
	"encoding/xml"
	"math"
	"time"

	"tallyman/internal/item"
)

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

func newItemForm(i *item.Item, now time.Time) ItemForm {
	form := ItemForm{
		ID: i.ID, Warehouse: i.Warehouse, State: string(i.State), Priority: i.Priority, Payload: Payload(i.Payload), Attempt: i.Attempt, Failures: i.Failures,
		Suspends: i.Suspends, CreatedAt: i.Created.UTC(), ReadyAt: timeOrNil(i.Ready), Due: timeOrNil(i.Due), Worker: i.Worker, Assignee: i.Assignee,
	}
	switch i.State {
	case item.Ready:
		form.Score = i.Score()
	case item.Leased, item.Delayed, item.Suspended, item.Stored:
		left := int64(math.Ceil(max(i.Due.Sub(now), 0).Seconds()))
		form.RemainingSeconds = &left
	default: // nothing comes by itself
	}
	return form
}

func newTracedItemForm(t *item.Traced, now time.Time) TracedItemForm {
	form := TracedItemForm{ItemForm: newItemForm(&t.Item, now), Trace: make([]MoveForm, len(t.Trace))}
	for i := range t.Trace {
		m := &t.Trace[i]
		form.Trace[i] = MoveForm{
			N: m.N, At: m.At.UTC(), From: string(m.From), To: string(m.To), Attempt: m.Attempt, Failures: m.Failures, Suspends: m.Suspends,
			Due: timeOrNil(m.Due), Assignee: m.Assignee, By: m.By, Node: m.Node, Note: m.Note,
		}
	}
	return form
}

package item

import (
	"encoding/json"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// Event is what a move means to a business system.
type Event string

// The events.
const (
	EventReadyAgain Event = "ready_again" // ready after it was suspended, stored or dead, or after an attempt that failed
	EventAssigned   Event = "assigned"    // somebody alone is to get it: another one than before
	EventDead       Event = "dead"
	EventDone       Event = "done"
	EventRemoved    Event = "removed"
)

// EventLife is how long an event is of use, unless its strategy goes on after that.
const EventLife = 72 * time.Hour

// Events says of which events of a queue's items a push channel is told, and how.
type Events struct {
	Sink     string
	On       []Event
	Strategy delivery.Strategy
}

// Has tells whether the channel is told of the event.
func (e *Events) Has(event Event) bool { return slices.Contains(e.On, event) }

// MayHave tells whether the channel may be told of the move: how the item stood before it may decide.
func (e *Events) MayHave(m *Move) bool {
	const fewer = -1 // failures than the item can have had
	return e.Has(m.Event(fewer, "")) || e.Has(m.Event(fewer, m.Assignee))
}

// Event returns what the move means; "" = nothing that anybody is told. The item had so many failures and that assignee before the move.
func (m *Move) Event(failures int, assignee string) Event {
	switch {
	case m.To == Done:
		return EventDone
	case m.To == Removed:
		return EventRemoved
	case m.To == Dead && m.From != Dead:
		return EventDead
	case m.Assignee != "" && m.Assignee != assignee:
		return EventAssigned
	case m.To == Ready && m.isReturn(failures):
		return EventReadyAgain
	default:
		return ""
	}
}

// isReturn tells whether the item that is ready was put off, was dead, or comes back from an attempt that failed.
func (m *Move) isReturn(failures int) bool {
	switch m.From {
	case Suspended, Stored, Dead:
		return true
	case Delayed: // by its push, or by a nack
		return m.Failures > 0
	case Leased: // a release counts no failure, nor does what is written back into Redis
		return m.Failures > failures
	default:
		return false
	}
}

// Told is what the notice of an event says.
type Told struct {
	Queue   string
	ID      string // of the item
	Event   Event
	Payload json.RawMessage
	Move
}

// The fields that ReadTold reads again.
const (
	fieldQueue = "queue"
	fieldItem  = "item"
	fieldEvent = "event"
	fieldMove  = "move"
)

// Fields are the data of the notice, by name.
func (t *Told) Fields() []notice.Field {
	return []notice.Field{
		{Name: "assignee", Value: orNull(t.Assignee)},
		{Name: "at", Value: t.At.UTC().Format(time.RFC3339Nano)},
		{Name: "attempt", Value: int64(t.Attempt)},
		{Name: "by", Value: orNull(t.By)},
		{Name: fieldEvent, Value: string(t.Event)},
		{Name: "failures", Value: int64(t.Failures)},
		{Name: fieldItem, Value: t.ID},
		{Name: fieldMove, Value: t.N},
		{Name: "note", Value: orNull(t.Note)},
		{Name: "payload", Value: orNull(string(t.Payload))},
		{Name: fieldQueue, Value: t.Queue},
		{Name: "suspends", Value: int64(t.Suspends)},
	}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// ReadTold returns queue, item, event and number of the move that the data of such a notice have.
func ReadTold(data []notice.Field) Told {
	var t Told
	for _, f := range data {
		text, _ := f.Value.(string)
		switch f.Name {
		case fieldQueue:
			t.Queue = text
		case fieldItem:
			t.ID = text
		case fieldEvent:
			t.Event = Event(text)
		case fieldMove:
			t.N, _ = f.Value.(int64)
		}
	}
	return t
}

package item

import (
	"encoding/json"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// Event is what a move of an item means to a business system.
type Event string

// The events.
const (
	EventReadyAgain Event = "ready_again" // ready after it was suspended, stored or dead, or after a failed attempt
	// EventAssigned: the item is now for one worker or subject only, and before it was for another or for any.
	EventAssigned Event = "assigned"
	EventDead     Event = "dead"
	EventDone     Event = "done"
	EventRemoved  Event = "removed"
)

// EventLife is the time after which an event is of no use any more, unless its strategy goes on.
const EventLife = 72 * time.Hour

// Events says which events of a queue's items go to a push channel, and how.
type Events struct {
	Sink     string
	On       []Event
	Strategy delivery.Strategy
}

// Has tells whether the channel gets the event.
func (e *Events) Has(event Event) bool { return slices.Contains(e.On, event) }

// MayHave tells whether the channel may get an event of the move. The item's state before the move may decide, and
// MayHave does not know that state.
func (e *Events) MayHave(m *Move) bool {
	const fewer = -1 // fewer failures than any item can have had
	return e.Has(m.Event(fewer, "")) || e.Has(m.Event(fewer, m.Assignee))
}

// Event returns the event of the move; "" = none. failures and assignee are the item's values before the move.
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

// isReturn tells whether the item is ready again after it was suspended, stored or dead, or after a failed attempt.
func (m *Move) isReturn(failures int) bool {
	switch m.From {
	case Suspended, Stored, Dead:
		return true
	case Delayed: // delayed by its push, or by a nack
		return m.Failures > 0
	case Leased: // Neither a release nor the rebuild of an index counts a failure.
		return m.Failures > failures
	default:
		return false
	}
}

// Told is the content of the notice of an event.
type Told struct {
	Queue   string
	ID      string // id of the item
	Event   Event
	Payload json.RawMessage
	Move
}

// The fields that ReadTold reads back.
const (
	fieldQueue = "queue"
	fieldItem  = "item"
	fieldEvent = "event"
	fieldMove  = "move"
)

// Fields returns the data of the notice, sorted by name.
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

// ReadTold reads the queue, item, event and number of the move from the data of a notice that Fields made.
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

package codec

import (
	"encoding/json"
	"fmt"
	"math"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
)

// EventLane returns the lane of the push channel that gets the events of the moves; false = no channel does.
func EventLane(entries []item.Moves) (ledger.Lane, bool) {
	if len(entries) == 0 || entries[0].Events == nil {
		return ledger.Lane{}, false
	}
	return ledger.Lane{Sink: entries[0].Events.Sink}, true
}

// Events makes the notices for the events of one call of ApplyMoves.
type Events struct {
	Notices []ledger.NewNotice // filled by Add

	of    *item.Events
	queue string
	moves map[int64][]*item.Move // moves of the items that may have an event, in their order
	seqs  []int64
	row   eventRow
}

// eventRow is the state of an item before the moves.
type eventRow struct {
	Item
	Now int64
}

// NewEvents selects the items whose moves may be events for a push channel. of may be nil.
func NewEvents(queue string, of *item.Events, a *Apply) *Events {
	e := &Events{queue: queue}
	if of == nil {
		return e
	}
	e.of, e.moves = of, map[int64][]*item.Move{}
	for _, moves := range a.Moves {
		for _, m := range moves {
			if e.of.MayHave(m) {
				e.moves[m.Seq], e.seqs = moves, append(e.seqs, m.Seq)
				break
			}
		}
	}
	return e
}

// Seqs returns the numbers of the items whose rows the engine must read and pass to Add.
func (e *Events) Seqs() []int64 { return e.seqs }

// Columns returns pointers to the columns of event-items.
func (e *Events) Columns() []any {
	r := &e.row
	return []any{&r.Seq, &r.ID, &r.Warehouse, &r.Priority, &r.Order, &r.Payload, &r.Moves, &r.Failures, &r.Assignee, &r.Now}
}

// EndedMoves is the number of moves of an item that has ended, so that no move is later.
const EndedMoves = math.MaxInt64

// Add adds the notices of the item whose row was scanned.
func (e *Events) Add() error {
	r := e.row
	failures, assignee := int(r.Failures), r.Assignee
	for _, m := range e.moves[r.Seq] {
		if m.N <= r.Moves {
			continue // The ledger ignores the move, so the move is no event.
		}
		event := m.Event(failures, assignee)
		failures, assignee = m.Failures, m.Assignee
		if !e.of.Has(event) {
			continue
		}
		n, err := r.notice(&item.Told{Queue: e.queue, ID: r.ID, Event: event, Payload: r.Payload, Move: *m})
		if err != nil {
			return err
		}
		e.Notices = append(e.Notices, ledger.NewNotice{Notice: n, Sinks: []ledger.Target{{Sink: e.of.Sink, Strategy: &e.of.Strategy}}})
	}
	return nil
}

// notice makes the notice of an event. The key puts the events of one item in order. The episode makes each event
// unique.
func (r *eventRow) notice(t *item.Told) (*notice.Notice, error) {
	key, err := json.Marshal([]string{t.Queue, t.ID})
	if err != nil {
		return nil, err
	}
	episode, err := json.Marshal([]any{t.Queue, t.ID, t.N, Micros(t.At)})
	if err != nil {
		return nil, err
	}
	typ := catalog.BuiltIn()[catalog.ItemEvent]
	n := &notice.Notice{
		Type: typ.Code, TypeID: typ.ID, Warehouse: r.Warehouse, Key: string(key), Episode: string(episode), Status: notice.Sent,
		Priority: int(r.Priority), Order: order(r.Order).String(), Modal: catalog.ModalSilent, Body: t.Note, Data: t.Fields(), Count: 1,
		CreatedAt: Time(r.Now), ExpiresAt: Time(r.Now).Add(item.EventLife),
	}
	n.ID = notice.ID(n.Rule, n.Scope, n.Key, n.Episode, n.Status, 0)
	said := eventWords[t.Event]
	n.Title = fmt.Sprintf("Item %s of %s %s%s", t.ID, t.Queue, said.en, toWhom(t))
	n.Texts = map[string]notice.Text{"zh": {Title: fmt.Sprintf("%s 的工作项 %s %s%s", t.Queue, t.ID, said.zh, toWhom(t)), Body: t.Note}}
	return n, nil
}

// eventWords has the words for events in titles.
var eventWords = map[item.Event]struct{ en, zh string }{
	item.EventReadyAgain: {"is ready again", "重新就绪"},
	item.EventAssigned:   {"is assigned to", "已指派给"},
	item.EventDead:       {"is dead", "已成为死信"},
	item.EventDone:       {"is done", "已完成"},
	item.EventRemoved:    {"was removed", "已移除"},
}

func toWhom(t *item.Told) string {
	if t.Event != item.EventAssigned {
		return ""
	}
	return " " + t.Assignee
}

package codec

import (
	"slices"
	"strings"

	"tallyman/internal/item"
)

// Push is what one call of PushItems writes.
type Push struct {
	Known []item.PushAnswer // in the order of the call; complete after Rows

	Traces []Trail // of items that begin another life, or may; complete after Rows

	items []item.Record
	first map[string]int      // by id: where it comes first, which is the one that counts
	lives map[int][]item.Move // by place in items: the trace of the lives that are over
}

// NewPush prepares the items.
func NewPush(items []item.Record) *Push {
	p := &Push{Known: make([]item.PushAnswer, len(items)), items: items, first: make(map[string]int, len(items)), lives: map[int][]item.Move{}}
	for i := range items {
		if _, ok := p.first[items[i].ID]; !ok {
			p.first[items[i].ID] = i
		}
	}
	return p
}

// IDs are those of the items, each once.
func (p *Push) IDs() []string {
	ids := make([]string, 0, len(p.first))
	for id := range p.first {
		ids = append(ids, id)
	}
	return ids
}

// Is tells that the ledger has an item already: its number, the letter of its state, and its warehouse.
func (p *Push) Is(id string, seq int64, letter, warehouse string) error {
	state, err := item.FromLetter(letter)
	p.Known[p.first[id]] = item.PushAnswer{Seq: seq, State: state, Warehouse: warehouse}
	return err
}

// Count is how many items are new, as far as Is has told.
func (p *Push) Count() int {
	n := 0
	for _, at := range p.first {
		if p.Known[at].Seq == 0 {
			n++
		}
	}
	return n
}

// Rows gives the numbers to the new items, in their order, and returns their rows.
func (p *Push) Rows(seqs []int64) []Item {
	out := make([]Item, 0, len(seqs))
	p.Traces = nil
	for i := range p.items {
		r := &p.items[i]
		switch at := p.first[r.ID]; {
		case at != i:
			k := &p.Known[at]
			p.Known[i] = item.PushAnswer{Seq: k.Seq, State: k.State, Warehouse: k.Warehouse}
		case p.Known[i].Seq == 0:
			seq := seqs[len(out)]
			out = append(out, p.row(i, seq))
		}
	}
	return out
}

// row is that of a new item, in its first life or another.
func (p *Push) row(i int, seq int64) Item {
	r := &p.items[i]
	k := item.PushAnswer{Seq: seq, New: true, State: r.State, Warehouse: r.Warehouse}
	row := NewItem(r, seq)
	if r.Again {
		trace := p.lives[i]
		begins := FirstMove(r)
		begins.Note = beginning(r.Request)
		if len(trace) > 0 {
			last := &trace[len(trace)-1]
			begins.N, begins.From, begins.Attempt = last.N+1, last.To, last.Attempt
			k.Moves, k.Attempt = begins.N, begins.Attempt
			row.Moves, row.Attempt = k.Moves, int64(k.Attempt)
		}
		trail := Trail{Seq: seq, At: Micros(begins.At)}
		for j := range trace {
			trail.Moves = appendMove(trail.Moves, &trace[j])
		}
		trail.Moves = appendMove(trail.Moves, &begins)
		p.Traces = append(p.Traces, trail)
	}
	p.Known[i] = k
	return row
}

// EndedItem is an item that has ended and is pushed again.
type EndedItem struct {
	ID  string
	Seq int64
}

// Ended returns the items that are there, have ended, and are asked for again, sorted by id: two who ask for the same never wait for each other
// in a circle.
func (p *Push) Ended() []EndedItem {
	var out []EndedItem
	for i := range p.items {
		r, k := &p.items[i], &p.Known[i]
		if r.Again && p.first[r.ID] == i && k.Seq != 0 && k.State.Ended() && k.Warehouse == r.Warehouse {
			out = append(out, EndedItem{r.ID, k.Seq})
		}
	}
	slices.SortFunc(out, func(a, b EndedItem) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Reopen makes an item new whose lives until now left the trace. It is false where one of them was begun by the same request.
func (p *Push) Reopen(id string, trace []item.Move) bool {
	i := p.first[id]
	if note := beginning(p.items[i].Request); note != "" {
		for j := range trace {
			if (trace[j].From == "" || trace[j].From.Ended()) && trace[j].Note == note {
				return false
			}
		}
	}
	p.lives[i], p.Known[i] = trace, item.PushAnswer{}
	return true
}

// beginning is the note of the move that begins a life.
func beginning(request string) string {
	if request == "" {
		return ""
	}
	return "request " + request
}

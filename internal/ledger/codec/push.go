package codec

import (
	"slices"
	"strings"

	"tallyman/internal/item"
)

// Push is the plan of one call of PushItems.
type Push struct {
	Known []item.PushAnswer // answers in the order of the call; complete after Rows

	Traces []Trail // traces of items pushed with Again; complete after Rows

	items []item.Record
	first map[string]int      // by id: index of the item's first entry in the call, which is the one that counts
	lives map[int][]item.Move // by index in items: the trace of the item's former lives
}

// NewPush plans the push.
func NewPush(items []item.Record) *Push {
	p := &Push{Known: make([]item.PushAnswer, len(items)), items: items, first: make(map[string]int, len(items)), lives: map[int][]item.Move{}}
	for i := range items {
		if _, ok := p.first[items[i].ID]; !ok {
			p.first[items[i].ID] = i
		}
	}
	return p
}

// IDs returns the ids of the items, each once.
func (p *Push) IDs() []string {
	ids := make([]string, 0, len(p.first))
	for id := range p.first {
		ids = append(ids, id)
	}
	return ids
}

// Is records that the ledger has an item already, with its number, the letter of its state, and its warehouse.
func (p *Push) Is(id string, seq int64, letter, warehouse string) error {
	state, err := item.FromLetter(letter)
	p.Known[p.first[id]] = item.PushAnswer{Seq: seq, State: state, Warehouse: warehouse}
	return err
}

// Count returns how many items are new, after all calls of Is.
func (p *Push) Count() int {
	n := 0
	for _, at := range p.first {
		if p.Known[at].Seq == 0 {
			n++
		}
	}
	return n
}

// Rows assigns the numbers to the new items, in their order, and returns their rows.
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

// row makes the row of a new item, in its first or a later life.
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

// EndedItem is an item that has ended and is pushed with Again.
type EndedItem struct {
	ID  string
	Seq int64
}

// Ended returns the existing items that have ended and are pushed with Again. They are sorted by id, so that two
// pushes of the same items lock them in the same order and cannot deadlock.
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

// Reopen lets an item begin another life; trace has its former lives. Reopen returns false where the same request began
// one of these lives.
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

// beginning returns the note of the move that begins a life.
func beginning(request string) string {
	if request == "" {
		return ""
	}
	return "request " + request
}

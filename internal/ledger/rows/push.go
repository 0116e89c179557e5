package rows

import "tallyman/internal/item"

// Push is what one call of PushItems writes.
type Push struct {
	Known []item.Known // in the order of the call; complete after Rows

	items []item.Record
	first map[string]int // by id: where it comes first, which is the one that counts
}

// NewPush prepares the items.
func NewPush(items []item.Record) *Push {
	p := &Push{Known: make([]item.Known, len(items)), items: items, first: make(map[string]int, len(items))}
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
	p.Known[p.first[id]] = item.Known{Seq: seq, State: state, Warehouse: warehouse}
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
	for i := range p.items {
		r := &p.items[i]
		switch at := p.first[r.ID]; {
		case at != i:
			p.Known[i] = p.Known[at]
			p.Known[i].New = false
		case p.Known[i].Seq == 0:
			seq := seqs[len(out)]
			p.Known[i] = item.Known{Seq: seq, New: true, State: r.State, Warehouse: r.Warehouse}
			out = append(out, NewItem(r, seq))
		}
	}
	return out
}

package page

import (
	"tallyman/engine/notice"
)

// Event is a step through a page: a notice, or the changes of one moment.
type Event struct {
	Notice  *notice.View // nil = it is the changes
	Changes []Change
	Cursor  string // by which a reader goes on that has taken all up to here: it misses nothing and gets nothing twice
}

// Events takes the page apart, in the order in which a reader must take it: the changes, then the notices. The last one has
// the cursor of the page.
func (p *Page) Events() ([]Event, error) {
	end, err := DecodeCursor(p.Cursor)
	if err != nil {
		return nil, err
	}
	at := func(score, changes int64) string {
		c := Cursor{Epoch: end.Epoch, Score: score, Changes: max(score, changes), Query: end.Query}
		for _, r := range p.Removed {
			if r.Score > score {
				c.Removed = append(c.Removed, r)
			}
		}
		return c.Encode()
	}
	var out []Event
	for i := 0; i < len(p.Changes); {
		to := i + 1
		for to < len(p.Changes) && p.Changes[to].Score == p.Changes[i].Score {
			to++
		}
		out = append(out, Event{Changes: p.Changes[i:to], Cursor: at(p.From, p.Changes[i].Score)})
		i = to
	}
	for i := range p.Notices {
		v := &p.Notices[i]
		out = append(out, Event{Notice: v, Cursor: at(v.Score, end.Changes)})
	}
	if len(out) > 0 {
		out[len(out)-1].Cursor = p.Cursor
	}
	return out, nil
}

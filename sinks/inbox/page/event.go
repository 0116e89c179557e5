package page

import (
	"tallyman/internal/notice"
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
	var out []Event
	for i := 0; i < len(p.Changes); {
		to := i + 1
		for to < len(p.Changes) && p.Changes[to].Score == p.Changes[i].Score {
			to++
		}
		out = append(out, Event{Changes: p.Changes[i:to], Cursor: p.at(&end, p.From, p.Changes[i].Score)})
		i = to
	}
	for i := range p.Notices {
		v := &p.Notices[i]
		out = append(out, Event{Notice: v, Cursor: p.at(&end, v.Score, end.Changes)})
	}
	if len(out) > 0 {
		out[len(out)-1].Cursor = p.Cursor
	}
	return out, nil
}

// Start is the cursor in front of the page's first event. A reader that was told to begin anew goes on with it.
func (p *Page) Start() (string, error) {
	end, err := DecodeCursor(p.Cursor)
	switch {
	case err != nil:
		return "", err
	case len(p.Changes) > 0:
		return p.at(&end, p.From, p.Changes[0].Score-1), nil
	case len(p.Notices) > 0:
		return p.at(&end, p.Notices[0].Score-1, end.Changes), nil
	}
	return p.Cursor, nil
}

// at is the cursor of a place in the page.
func (p *Page) at(end *Cursor, score, changes int64) string {
	c := Cursor{Epoch: end.Epoch, Score: score, Changes: changes, Query: end.Query}
	for _, r := range p.Removed {
		if r.Score > score {
			c.Removed = append(c.Removed, r)
		}
	}
	return c.Encode()
}

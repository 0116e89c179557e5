package inbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"tallyman/sinks/inbox/page"
	"tallyman/sinks/index"
)

// position is where a slice begins.
type position struct {
	mode  string // see poll.lua
	score int64
	reset bool           // the cursor is not of this epoch or query
	gone  []page.Removed // that the client knows of
}

func (r *reader) start(g *index.Generation) position {
	switch {
	case r.After != "" && (r.cursor.Epoch != g.Epoch || r.cursor.Query != r.hash):
		return position{mode: "window", reset: true}
	case r.After != "":
		return position{mode: "after", score: r.cursor.Score, gone: r.cursor.Removed}
	case r.Since > 0:
		return position{mode: "since", score: r.Since * 1000}
	default:
		return position{mode: "window"}
	}
}

// next goes on behind the score. Only a client that follows with a cursor must be told of what was removed meanwhile.
func (p position) next(score int64, s *slice) position {
	if p.mode != "after" || s.reset {
		return position{mode: "scan", score: score}
	}
	return position{mode: "after", score: score, gone: s.goneAbove(score)}
}

// slice is what poll.lua answers: some inboxes and the clock at one moment.
type slice struct {
	clock, now  int64
	sweeps      string
	reset, more bool
	count       int
	removed     []int64 // by inbox
	entries     []sliceEntry
}

// goneAbove lists the inboxes that lost something above the score. Whoever gets the slice knows by now.
func (s *slice) goneAbove(score int64) []page.Removed {
	var out []page.Removed
	for i, removed := range s.removed {
		if removed > score {
			out = append(out, page.Removed{Inbox: i, Score: removed})
		}
	}
	return out
}

type sliceEntry struct {
	id    string
	score int64
	body  string
}

const sliceHead = 6 // values before those of the inboxes and the entries

// slice calls poll.lua.
func (in *Inbox) slice(ctx context.Context, g *index.Generation, r *reader, from position) (*slice, error) {
	limit := r.Limit
	if len(r.Types) > 0 {
		limit = page.MaxLimit
	}
	keys := in.keys.all(r.Warehouse, len(r.Subscribers))
	who := r.who()
	gone := make([]int64, len(r.Subscribers))
	for _, g := range from.gone {
		if g.Inbox < len(gone) {
			gone[g.Inbox] = g.Score
		}
	}
	args := make([]any, 0, 8+2*len(r.Subscribers))
	args = append(args, g.Epoch, in.now(), from.mode, from.score, window.Microseconds(), limit, in.counts.version(g, who), maxUnread+1)
	for i, s := range r.Subscribers {
		keys = append(keys, in.keys.inbox(r.Warehouse, s))
		args = append(args, s, gone[i])
	}
	reply, err := in.run(ctx, in.scripts.poll, keys, args...)
	if err != nil {
		return in.sliceFailed(g, r, err)
	}
	in.learn(r.Warehouse)
	s, err := parseSlice(reply, len(r.Subscribers))
	if err != nil {
		return nil, err
	}
	s.count = in.counts.resolve(g, who, s)
	return s, nil
}

// sliceFailed tells a warehouse that never had a notice from one that was lost.
func (in *Inbox) sliceFailed(g *index.Generation, r *reader, err error) (*slice, error) {
	var other *index.EpochError
	switch {
	case errors.As(err, &other):
		if in.virgin(g, r, other.Found) {
			return &slice{sweeps: "0"}, nil
		}
		return nil, in.lost(g, r.Warehouse, err)
	case errors.Is(err, errAhead):
		return nil, in.lost(g, r.Warehouse, err)
	}
	return nil, err
}

// virgin tells whether a warehouse without a clock of this epoch never had a notice in it. One that this node knows had, and
// so had one whose cursor says so.
func (in *Inbox) virgin(g *index.Generation, r *reader, found string) bool {
	seen := r.cursor.Epoch == g.Epoch && r.cursor.Query == r.hash && r.cursor.Score > 0
	return !seen && !in.knows(r.Warehouse) && index.EpochNumber(found) < index.EpochNumber(g.Epoch)
}

func parseSlice(reply []any, inboxes int) (*slice, error) {
	first := sliceHead + inboxes
	if len(reply) < first || (len(reply)-first)%3 != 0 {
		return nil, fmt.Errorf("inbox: poll.lua answered %d values", len(reply))
	}
	p := parser{reply: reply}
	s := &slice{clock: p.score(0), sweeps: p.text(1), now: p.score(2), reset: p.number(3) == 1, more: p.number(4) == 1, count: int(p.number(5))}
	for i := sliceHead; i < first; i++ {
		s.removed = append(s.removed, p.score(i))
	}
	s.entries = make([]sliceEntry, 0, (len(reply)-first)/3)
	for i := first; i < len(reply); i += 3 {
		s.entries = append(s.entries, sliceEntry{id: p.text(i), score: p.score(i + 1), body: p.text(i + 2)})
	}
	return s, p.err
}

// parser reads values of a reply and keeps the first error.
type parser struct {
	reply []any
	err   error
}

func (p *parser) text(i int) string {
	s, ok := p.reply[i].(string)
	p.check(ok, i)
	return s
}

func (p *parser) number(i int) int64 {
	n, ok := p.reply[i].(int64)
	p.check(ok, i)
	return n
}

func (p *parser) score(i int) int64 {
	n, err := strconv.ParseInt(p.text(i), 10, 64)
	p.check(err == nil, i)
	return n
}

func (p *parser) check(ok bool, i int) {
	if !ok && p.err == nil {
		p.err = fmt.Errorf("inbox: value %d of a reply is a %T: %v", i, p.reply[i], p.reply[i])
	}
}

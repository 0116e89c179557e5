package inbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// slicePosition is where a slice begins.
type slicePosition struct {
	mode  string // see poll.lua
	score int64
	reset page.ResetReason // why the cursor is not valid any more; "" means that it is valid, or that there is none
	gone  []page.Removed   // removed notices that the client knows of
	// the clock up to which the client knows the marks of its notices; 0 means that it wants no changes
	changes int64
	shown   int64 // notices are shown as they were at this clock; 0 means now
	rounds  int   // rounds before this one, which did not fill the page
}

func (r *reader) start(g *recovery.Generation) slicePosition {
	p := slicePosition{mode: "window", reset: r.otherCursor(g)}
	switch {
	case p.reset != "":
	case r.After != "":
		p = slicePosition{mode: "after", score: r.cursor.Score, gone: r.cursor.Removed, changes: r.cursor.Changes}
	case r.Since > 0:
		p = slicePosition{mode: "since", score: r.Since * 1000, changes: r.Since*1000 - 1}
	}
	if r.Plain {
		p.changes = 0
	}
	return p
}

// otherCursor returns why the cursor does not belong to this generation and query, or "".
func (r *reader) otherCursor(g *recovery.Generation) page.ResetReason {
	switch {
	case r.After == "":
		return ""
	case !r.cursor.Query.SameWarehouse(r.hash):
		return page.ResetForeignCursor
	case !r.cursor.Query.SameSubscribers(r.hash):
		return page.ResetSubscribersChanged
	case r.cursor.Query != r.hash:
		return page.ResetFilterChanged
	case r.cursor.Epoch != g.Epoch:
		return page.ResetIndexRebuilt
	}
	return ""
}

// before returns the score up to which the client has the notices already.
func (p slicePosition) before() int64 {
	switch p.mode {
	case "after":
		return p.score
	case "since":
		return p.score - 1
	}
	return 0
}

// next returns the position behind the score. shown is the clock that the page shows. Only a client with a cursor must
// learn which notices were removed in the meantime.
func (p slicePosition) next(score, shown int64, s *slice) slicePosition {
	then := slicePosition{mode: "scan", score: score, shown: shown, rounds: p.rounds + 1}
	if p.mode == "after" && s.reset == "" {
		then.mode, then.gone = "after", s.goneAbove(score)
	}
	return then
}

// slice is the answer of poll.lua: the state of some inboxes and of the clock at one moment.
type slice struct {
	clock, now int64
	sweeps     string
	reset      page.ResetReason
	more       bool
	full       bool       // the page ended because of its bytes, not because of the limit
	count      int        // -1 means that the caller's count is still right
	counted    inboxPlace // where the count must continue; inbox 0 means that the count is complete
	told       int64      // the changes are complete up to this clock
	removed    []int64    // for each inbox, the highest score that the cap removed
	changes    []page.Change
	entries    []sliceEntry
}

// settled is page.Page.Settled. The next notice gets a score above the clock, and not before the present time. A wide
// notice that is being delivered already has a score, in a later millisecond than all notices before it.
func (s *slice) settled() int64 {
	return max(s.clock+1, s.now) / 1000 * 1000
}

// goneAbove returns the inboxes that lost notices above the score. With this slice the client learns of these losses.
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
	id          string
	score       int64
	body        string
	read, acked bool
}

// inboxPlace is an inbox of the query, counted from 1, and a score in it.
type inboxPlace struct{ inbox, score int64 }

// sliceHead is how many values of the answer come before the values of inboxes, changes and entries.
const sliceHead = 10

// slice calls poll.lua, and unread.lua if the count is not complete.
func (in poller) slice(ctx context.Context, g *recovery.Generation, r *reader, from slicePosition) (*slice, error) {
	// each round without a full page reads twice as many notices, because filters and expired notices leave few
	limit := min(r.Limit<<from.rounds, page.MaxLimit)
	if len(r.Types) > 0 || r.Unread {
		limit = page.MaxLimit
	}
	keys := in.keys.all(r.Warehouse, len(r.Subscribers))[:4]
	who := r.who()
	known := in.counts.known(g, who)
	gone := make([]int64, len(r.Subscribers))
	for _, g := range from.gone {
		if g.Inbox < len(gone) {
			gone[g.Inbox] = g.Score
		}
	}
	args := make([]any, 0, 14+2*len(r.Subscribers))
	args = append(args, g.Epoch, in.now(), from.mode, from.score, window.Microseconds(), limit, known.clock, known.sweeps, maxUnread+1,
		flag(r.user != ""), from.changes, in.o.maxChanges, from.shown, maxBytes)
	for i, s := range r.Subscribers {
		keys = append(keys, in.keys.inbox(r.Warehouse, s))
		args = append(args, s, gone[i])
	}
	keys = in.readerKeys(keys, r)
	reply, err := in.look(ctx, g, r, in.scripts.poll, keys, args...)
	if err != nil {
		return in.sliceFailed(ctx, g, r, err)
	}
	in.learn(r.Warehouse)
	s, err := parseSlice(reply, len(r.Subscribers))
	if err != nil {
		return nil, err
	}
	for s.counted.inbox > 0 {
		if err := in.countOn(ctx, g, r, s); err != nil {
			return nil, err
		}
	}
	s.count = in.counts.resolve(g, who, known, s)
	return s, nil
}

// countOn calls unread.lua, which continues the count of a slice.
func (in poller) countOn(ctx context.Context, g *recovery.Generation, r *reader, s *slice) error {
	keys := []string{in.keys.clock(r.Warehouse), in.keys.expiry(r.Warehouse)}
	args := []any{
		g.Epoch, formatScore(s.now), formatScore(s.clock), flag(r.user != ""), s.counted.inbox, formatScore(s.counted.score), maxUnread + 1 - s.count,
	}
	for _, one := range r.Subscribers {
		keys = append(keys, in.keys.inbox(r.Warehouse, one))
		args = append(args, one)
	}
	reply, err := in.look(ctx, g, r, in.scripts.unread, in.readerKeys(keys, r), args...)
	if err != nil {
		return err
	}
	if len(reply) != 3 {
		return fmt.Errorf("inbox: unread.lua answered %d values", len(reply))
	}
	p := parser{reply: reply}
	s.count += int(p.number(0))
	s.counted = inboxPlace{p.number(1), p.score(2)}
	return p.err
}

// readerKeys appends the keys of the reader's marks, if there is a reader.
func (in poller) readerKeys(keys []string, r *reader) []string {
	if r.user == "" {
		return keys
	}
	return append(keys, in.keys.marks(r.Warehouse, r.user), in.keys.upto(r.Warehouse, r.user))
}

// flag returns a bool as scripts take it.
func flag(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// sliceFailed handles errors of a slice that may mean a loss. A warehouse that never had a notice, or a cursor that was
// never valid, is no loss.
func (in poller) sliceFailed(ctx context.Context, g *recovery.Generation, r *reader, err error) (*slice, error) {
	if other, ok := errors.AsType[*recovery.EpochError](err); ok {
		switch {
		case !in.virgin(g, r.Warehouse, other.Found):
			return nil, in.lost(g, r.Warehouse, err)
		case r.knows(g):
			return in.doubt(ctx, g, r, 0, err)
		}
		return &slice{sweeps: "0"}, nil
	}
	if ahead, ok := errors.AsType[*aheadError](err); ok {
		return in.doubt(ctx, g, r, ahead.clock, err)
	}
	return nil, err
}

// virgin tells whether a warehouse without a clock of this epoch never had a notice, as far as this node knows. A
// warehouse that is claimed for this epoch is about to get its first notice.
func (in *index) virgin(g *recovery.Generation, warehouse, found string) bool {
	return !in.knows(warehouse) && (recovery.EpochNumber(found) < recovery.EpochNumber(g.Epoch) || found == claim(g.Epoch))
}

// knows tells whether the reader's cursor proves that the warehouse had a clock in this epoch.
func (r *reader) knows(g *recovery.Generation) bool {
	return r.cursor.Epoch == g.Epoch && r.cursor.Query == r.hash && max(r.cursor.Score, r.cursor.Changes) > 0
}

// doubt handles a cursor that is ahead of Redis. If the ledger is ahead of Redis, too, Redis has lost something. If
// not, only this reader starts again: the notices that it saw were never recorded, or the cursor is made up.
func (in poller) doubt(ctx context.Context, g *recovery.Generation, r *reader, clock int64, cause error) (*slice, error) {
	highest, err := in.highest(ctx)
	if err != nil {
		return nil, err
	}
	if clock < highest[r.Warehouse] {
		return nil, in.lost(g, r.Warehouse, cause)
	}
	s := &slice{sweeps: "0"}
	if clock > 0 {
		if s, err = in.slice(ctx, g, r, slicePosition{mode: "window"}); err != nil {
			return nil, err
		}
	}
	s.reset = page.ResetCursorAhead
	return s, nil
}

func parseSlice(reply []any, inboxes int) (*slice, error) {
	odd := fmt.Errorf("inbox: poll.lua answered %d values", len(reply))
	if len(reply) < sliceHead+inboxes {
		return nil, odd
	}
	p := parser{reply: reply}
	s := &slice{
		clock: p.score(0), sweeps: p.text(1), now: p.score(2), more: p.number(4) > 0, full: p.number(4) == 2, count: int(p.number(5)),
		counted: inboxPlace{p.number(6), p.score(7)}, told: p.score(8),
	}
	if s.count < -1 {
		s.count = -2 - s.count
	}
	switch p.number(3) {
	case 1:
		s.reset = page.ResetTrimmed
	case 2:
		s.reset = page.ResetTooOld
	case 3:
		s.reset = page.ResetTooManyChanges
	}
	changes := sliceHead + inboxes
	entries := changes + 3*int(p.number(9))
	if p.err != nil || entries < changes || len(reply) < entries || (len(reply)-entries)%4 != 0 {
		return nil, errors.Join(odd, p.err)
	}
	for i := sliceHead; i < changes; i++ {
		s.removed = append(s.removed, p.score(i))
	}
	for i := changes; i < entries; i += 3 {
		s.changes = append(s.changes, page.Change{ID: p.text(i), Kind: p.text(i + 1), Score: p.score(i + 2)})
	}
	s.entries = p.entries(entries)
	return s, p.err
}

// entries reads the notices from a place in the reply to its end.
func (p *parser) entries(from int) []sliceEntry {
	out := make([]sliceEntry, 0, (len(p.reply)-from)/4)
	for i := from; i+3 < len(p.reply); i += 4 {
		became := p.number(i + 3)
		out = append(out, sliceEntry{id: p.text(i), score: p.score(i + 1), body: p.text(i + 2), read: became > 0, acked: became > 1})
	}
	return out
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

// counts caches how many unread notices readers have. A count stays valid until the clock or a sweep changes one of its
// inboxes.
type counts struct {
	mu sync.Mutex
	of map[string]inboxCount
}

type inboxCount struct {
	epoch  string
	clock  int64 // the warehouse's clock when the notices were counted; 0 means never
	sweeps string
	n      int
}

// maxCounts bounds the memory. When it is reached, all counts are forgotten and made again.
const maxCounts = 10_000

// who returns the key of a reader's count. Filters by type do not change the count.
func (r *reader) who() string {
	return r.Warehouse + "\n" + strings.Join(r.Subscribers, "\n")
}

// known returns the last count of this epoch, or a count that no script takes as valid.
func (c *counts) known(g *recovery.Generation, who string) inboxCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.of[who]; k.epoch == g.Epoch {
		return k
	}
	return inboxCount{sweeps: "0"}
}

// resolve returns the count of a slice, and stores it: the new count of the script, or the known count.
func (c *counts) resolve(g *recovery.Generation, who string, known inboxCount, s *slice) int {
	n := s.count
	if n < 0 {
		n = known.n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= maxCounts {
		c.of = map[string]inboxCount{}
	}
	c.of[who] = inboxCount{epoch: g.Epoch, clock: s.clock, sweeps: s.sweeps, n: n}
	return n
}

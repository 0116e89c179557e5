package inbox

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/notice"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// Poll answers a query from Redis alone, in one round trip unless a filter leaves out notices. While Redis cannot be
// reached or is being rebuilt, Poll waits up to 5 s, and then fails with page.ErrUnavailable. The other errors are
// page.ErrBadCursor, page.ErrBadQuery and the context's.
func (in poller) Poll(ctx context.Context, q page.Query) (page.Page, error) {
	r, err := newReader(q)
	if err != nil {
		return page.Page{}, err
	}
	var pg page.Page
	err = in.keeper.Serve(ctx, func(ctx context.Context, g *recovery.Generation) error {
		pg, err = in.read(ctx, g, r)
		return err
	})
	return pg, err
}

// reader is a query with the values that follow from it.
type reader struct {
	page.Query
	user   string // the user whose marks are shown; "" means none
	hash   page.Hash
	ids    []int64     // the types of the query that are given as ids, not as codes
	cursor page.Cursor // the decoded After
}

func newReader(q page.Query) (*reader, error) {
	q, err := q.Normal()
	if err != nil {
		return nil, err
	}
	r := &reader{Query: q, user: q.Reader(), hash: q.Hash()}
	for _, name := range q.Types {
		if id, err := strconv.ParseInt(name, 10, 64); err == nil {
			r.ids = append(r.ids, id)
		}
	}
	if q.After != "" {
		if r.cursor, err = page.DecodeCursor(q.After); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// maxRounds bounds the round trips of a poll whose filters leave few notices. After that, the page ends early and says
// that more follow.
const maxRounds = 10

// read makes one page in one generation. All notices of the page are shown as they were in the first round, so the
// changes also end at the clock of the first round.
func (in poller) read(ctx context.Context, g *recovery.Generation, r *reader) (page.Page, error) {
	pg := page.Page{Notices: make([]notice.View, 0, 8)}
	from := r.start(g)
	pg.Reset, pg.Reason, pg.From = from.reset != "", from.reset, from.before()
	shown := int64(0)
	for round := 1; ; round++ {
		s, err := in.slice(ctx, g, r, from)
		if err != nil {
			return pg, err
		}
		if s.reset != "" { // in the first round; or in a later one if the cap has removed notices in between
			pg.Reset, pg.Reason, pg.Notices, pg.Changes, pg.From = true, s.reset, pg.Notices[:0], nil, 0
		}
		if pg.Reset && (round == 1 || s.reset != "") {
			if pg.Missed, err = in.missed(ctx, r, pg.Reason, s); err != nil {
				return pg, err
			}
		}
		if round == 1 {
			pg.Changes, pg.Clock, pg.Settled, shown = s.changes, pg.From, s.settled(), s.told
		}
		left := in.take(&pg, r, s)
		pg.More = s.more || left
		pg.Version = version(g.Epoch, s.clock, s.sweeps, r.hash)
		pg.Unread, pg.UnreadMore = min(s.count, maxUnread), s.count > maxUnread
		if !pg.More {
			pg.Clock = s.clock
		}
		if !pg.More || len(pg.Notices) == r.Limit || round == maxRounds || s.told < s.clock || s.full && len(pg.Notices) > 0 {
			pg.Removed = s.goneAbove(0)
			pg.Cursor = page.Cursor{Epoch: g.Epoch, Score: pg.Clock, Changes: shown, Query: r.hash, Removed: s.goneAbove(pg.Clock)}.Encode()
			return pg, nil
		}
		from = from.next(pg.Clock, shown, s)
	}
}

// take adds the notices of a slice to the page until the page is full. take returns whether notices are left. take sets
// the page's clock to the score of the last notice that it looked at.
func (in poller) take(pg *page.Page, r *reader, s *slice) bool {
	for _, e := range s.entries {
		if len(pg.Notices) == r.Limit {
			return true
		}
		pg.Clock = e.score
		if v, ok := in.view(r, s.now, e); ok && r.wants(v.Notice) && (!r.Unread || !v.Read) {
			pg.Notices = append(pg.Notices, v)
		}
	}
	return false
}

// view returns the notice of an entry. view returns false if the notice is gone or has expired.
func (in poller) view(r *reader, now int64, e sliceEntry) (notice.View, bool) {
	n, err := notice.Unmarshal([]byte(e.body))
	if err != nil {
		if e.body != "" { // an empty body was dropped or swept
			in.log.Error("A body in Redis is not a notice. It is left out of the answer.",
				"warehouse", r.Warehouse, "id", e.id, "error", err)
		}
		return notice.View{}, false
	}
	return notice.View{Notice: n, Score: e.score, Read: e.read, Acked: e.acked}, n.ExpiresAt.UnixMicro() > now
}

func (r *reader) wants(n *notice.Notice) bool {
	return len(r.Types) == 0 || slices.Contains(r.Types, n.Type) || slices.Contains(r.ids, n.TypeID)
}

// mostMissed is how many missed notices of one inbox are counted. The log of an inbox remembers as many scores.
const mostMissed = 1000

// missed counts the notices that were delivered after the reader's cursor and that no later page will have. Such notices
// were removed by the cap, or are older than the window with which the reader starts again. missed returns -1 if the
// number is unknown: with a filter, for a cursor of another query, or if an inbox has lost more notices than its log
// remembers.
func (in poller) missed(ctx context.Context, r *reader, reason page.ResetReason, s *slice) (int, error) {
	switch reason {
	case page.ResetTrimmed, page.ResetTooOld, page.ResetTooManyChanges, page.ResetIndexRebuilt:
	default:
		return -1, nil
	}
	if len(r.Types) > 0 || r.Unread {
		return -1, nil
	}
	if len(s.removed) == 0 { // the warehouse never had a notice
		return 0, nil
	}
	begins := s.now - window.Microseconds() // the score of the first notice that the reader gets now
	logs := make([]*redis.StringSliceCmd, len(s.removed))
	old := make([]*redis.ZSliceCmd, len(s.removed))
	there := make([]*redis.ZSliceCmd, len(s.removed))
	_, err := in.o.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, one := range r.Subscribers {
			inbox := in.keys.inbox(r.Warehouse, one)
			if s.removed[i] > r.told(i) {
				logs[i] = p.LRange(ctx, in.keys.log(r.Warehouse, one), 0, -1)
			}
			if r.cursor.Score+1 < begins {
				old[i] = p.ZRangeByScoreWithScores(ctx, inbox, &redis.ZRangeBy{
					Min: "(" + formatScore(r.cursor.Score), Max: "(" + formatScore(begins), Count: mostMissed + 1,
				})
			}
			if lost := slices.Max(s.removed); len(s.removed) > 1 && lost >= begins && lost > r.cursor.Score {
				there[i] = p.ZRangeByScoreWithScores(ctx, inbox, &redis.ZRangeBy{
					Min: formatScore(max(begins, r.cursor.Score+1)), Max: formatScore(lost), Count: mostMissed + 1,
				})
			}
		}
		return nil
	})
	if err != nil {
		return -1, err
	}
	missed := map[int64]bool{}
	for i, cmd := range logs {
		if cmd == nil {
			continue
		}
		scores := cmd.Val()
		known := len(scores) < mostMissed
		for _, text := range scores {
			score, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return -1, err
			}
			known = known || score <= r.told(i)
			if score > r.told(i) && score <= s.removed[i] {
				missed[score] = true
			}
		}
		if !known {
			return -1, nil
		}
	}
	for _, cmd := range old {
		if !each(cmd, func(score int64) { missed[score] = true }) {
			return -1, nil
		}
	}
	for _, cmd := range there {
		if !each(cmd, func(score int64) { delete(missed, score) }) {
			return -1, nil
		}
	}
	return len(missed), nil
}

// told returns the score up to which notices of an inbox were removed, as far as the reader's cursor knows.
func (r *reader) told(inbox int) int64 {
	score := r.cursor.Score
	for _, gone := range r.cursor.Removed {
		if gone.Inbox == inbox {
			score = max(score, gone.Score)
		}
	}
	return score
}

// each calls f with the scores of an answer. each returns false if the answer was cut off.
func each(cmd *redis.ZSliceCmd, f func(score int64)) bool {
	if cmd == nil {
		return true
	}
	list := cmd.Val()
	for _, z := range list {
		f(int64(z.Score))
	}
	return len(list) <= mostMissed
}

// Summary returns the counts and the newest notices of the query's inboxes, from Redis alone. The errors are those of
// Poll.
func (in poller) Summary(ctx context.Context, q page.Query) (page.Summary, error) {
	q.After, q.Since, q.Limit = "", 0, page.Latest
	r, err := newReader(q)
	if err != nil {
		return page.Summary{}, err
	}
	var sum page.Summary
	err = in.keeper.Serve(ctx, func(ctx context.Context, g *recovery.Generation) error {
		sum, err = in.summarize(ctx, g, r)
		return err
	})
	return sum, err
}

func (in poller) summarize(ctx context.Context, g *recovery.Generation, r *reader) (page.Summary, error) {
	s, err := in.slice(ctx, g, r, slicePosition{mode: "latest"})
	if err != nil {
		return page.Summary{}, err
	}
	sum := page.Summary{
		Unread: min(s.count, maxUnread), UnreadMore: s.count > maxUnread, Version: version(g.Epoch, s.clock, s.sweeps, r.hash),
		Latest: in.views(r, s.now, s.entries),
	}
	if s.clock == 0 { // the warehouse never had a notice
		return sum, nil
	}
	open, err := in.popups(ctx, g, r)
	if err != nil {
		return sum, err
	}
	sum.Popups = in.views(r, s.now, open)
	sum.PopupsMore = len(sum.Popups) > page.MaxPopups
	sum.Popups = sum.Popups[:min(len(sum.Popups), page.MaxPopups)]
	return sum, nil
}

// views returns the notices of the entries, without notices that are gone or have expired.
func (in poller) views(r *reader, now int64, entries []sliceEntry) []notice.View {
	out := make([]notice.View, 0, len(entries))
	for _, e := range entries {
		if v, ok := in.view(r, now, e); ok {
			out = append(out, v)
		}
	}
	return out
}

// popups calls popups.lua until it has found enough modal notices, or has looked through all of them.
func (in poller) popups(ctx context.Context, g *recovery.Generation, r *reader) ([]sliceEntry, error) {
	keys := []string{in.keys.clock(r.Warehouse), in.keys.notices(r.Warehouse), in.keys.expiry(r.Warehouse), in.keys.popups(r.Warehouse)}
	for _, s := range r.Subscribers {
		keys = append(keys, in.keys.inbox(r.Warehouse, s))
	}
	keys = in.readerKeys(keys, r)
	var open []sliceEntry
	for above := "0"; above != "" && len(open) <= page.MaxPopups; {
		args := []any{g.Epoch, in.now(), flag(r.user != ""), page.MaxPopups + 1 - len(open), maxBytes, above}
		for _, s := range r.Subscribers {
			args = append(args, s)
		}
		reply, err := in.look(ctx, g, r, in.scripts.popups, keys, args...)
		if err != nil {
			_, err = in.sliceFailed(ctx, g, r, err)
			return nil, err
		}
		if len(reply) == 0 {
			return nil, errors.New("inbox: popups.lua answered nothing")
		}
		p := parser{reply: reply}
		above = p.text(0)
		open = append(open, p.entries(1)...)
		if p.err != nil {
			return nil, p.err
		}
	}
	return open, nil
}

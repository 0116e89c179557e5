package inbox

import (
	"context"
	"slices"

	"tallyman/internal/notice"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// Poll answers a query from Redis alone, in one round trip unless notices are filtered out. While Redis is out of reach
// or being rebuilt it waits up to 5 s; the error is then page.ErrUnavailable. The others are page.ErrBadCursor,
// page.ErrBadQuery and the context's.
func (in *Inbox) Poll(ctx context.Context, q page.Query) (page.Page, error) {
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

// reader is a query with what follows from it.
type reader struct {
	page.Query
	user   string // whose read state it is; "" = nobody's
	hash   page.Hash
	cursor page.Cursor // of After
}

func newReader(q page.Query) (*reader, error) {
	q, err := q.Normal()
	if err != nil {
		return nil, err
	}
	r := &reader{Query: q, user: q.Reader(), hash: q.Hash()}
	if q.After != "" {
		if r.cursor, err = page.DecodeCursor(q.After); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// maxRounds bounds the round trips of a poll whose filters let little through. Beyond them the page ends early, with
// more to follow.
const maxRounds = 10

// read makes one page in one generation. Its notices are shown as they were when the first round was read, and so the changes
// go up to there.
func (in *Inbox) read(ctx context.Context, g *recovery.Generation, r *reader) (page.Page, error) {
	pg := page.Page{Notices: make([]notice.View, 0, 8)}
	from := r.start(g)
	pg.Reset, pg.Reason, pg.From = from.reset != "", from.reset, from.before()
	shown := int64(0)
	for round := 1; ; round++ {
		s, err := in.slice(ctx, g, r, from)
		if err != nil {
			return pg, err
		}
		if s.reset != "" { // in the first round, or in a later one when the cap removed something meanwhile
			pg.Reset, pg.Reason, pg.Notices, pg.Changes, pg.From = true, s.reset, pg.Notices[:0], nil, 0
		}
		if pg.Reset && (round == 1 || s.reset != "") {
			if pg.Missed, err = in.missed(ctx, r, pg.Reason, s); err != nil {
				return pg, err
			}
		}
		if round == 1 {
			pg.Changes, pg.Clock, shown = s.changes, pg.From, s.told
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

// take puts the notices of a slice on the page until that is full. It reports whether some are left, and makes the score of
// the last one that it looked at the page's clock.
func (in *Inbox) take(pg *page.Page, r *reader, s *slice) bool {
	for _, e := range s.entries {
		if len(pg.Notices) == r.Limit {
			return true
		}
		pg.Clock = e.score
		if v, ok := in.view(r, s.now, e); ok && r.wants(v.Type) && (!r.Unread || !v.Read) {
			pg.Notices = append(pg.Notices, v)
		}
	}
	return false
}

// view is the notice of an entry, unless it is gone or has expired.
func (in *Inbox) view(r *reader, now int64, e sliceEntry) (notice.View, bool) {
	n, err := notice.Unmarshal([]byte(e.body))
	if err != nil {
		if e.body != "" { // an empty one was dropped or swept
			in.log.Error("a body in Redis is no notice", "warehouse", r.Warehouse, "id", e.id, "error", err)
		}
		return notice.View{}, false
	}
	return notice.View{Notice: n, Score: e.score, Read: e.read, Acked: e.acked}, n.ExpiresAt.UnixMicro() > now
}

func (r *reader) wants(code string) bool {
	return len(r.Types) == 0 || slices.Contains(r.Types, code)
}

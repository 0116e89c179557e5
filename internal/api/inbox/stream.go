package inbox

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"tallyman/internal/api"
	"tallyman/internal/api/stream"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// stream serves GET /api/v1/notices/stream: as events, first the page of a poll and then all later notices.
func (h *Handlers) stream(w http.ResponseWriter, r *http.Request) {
	q, prob := newStreamQuery(r)
	if prob != nil {
		api.WriteProblem(w, prob, api.ProblemMedia(r))
		return
	}
	if r.Method == http.MethodHead { // The mux calls the handler of GET for HEAD, too.
		stream.SetHeader(w.Header())
		return
	}
	s, prob := h.feeds.enter(auth.From(r.Context()), q, api.HeaderValue(r, "Accept-Language")) //nolint:contextcheck // The feed polls for many streams, so it outlives this request.
	if prob != nil {
		api.WriteProblem(w, prob, api.ProblemMedia(r))
		return
	}
	defer s.Abandon()
	pg, err := h.deps.Inbox.Poll(r.Context(), s.place)
	if err != nil {
		h.pollFailed(w, r, err, api.ProblemMedia(r))
		return
	}
	s.Serve(w, r, func(ctx context.Context) { h.follow(ctx, s, pg) })
}

// follow sends the client all notices up to the present, and then hands the stream to its feed.
func (h *Handlers) follow(ctx context.Context, s *noticeStream, pg page.Page) {
	err := s.catchUp(ctx, pg)
	if err == nil {
		err = s.feed.join(ctx, s)
	}
	switch {
	case err == nil:
	case api.Gone(ctx):
		s.End(stream.Gone)
	case errors.Is(err, page.ErrUnavailable):
		s.End(stream.Unavailable)
	default:
		h.log.LogAttrs(ctx, slog.LevelError, "Stream failed.", slog.Any("error", err))
		s.End(stream.Failed)
	}
}

// newStreamQuery reads the request. A browser reconnects with the same URL and a Last-Event-ID, so Last-Event-ID wins
// over after and since.
func newStreamQuery(r *http.Request) (page.Query, *wire.Problem) {
	if !api.AcceptsEvents(r) {
		return page.Query{}, wire.NewProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable, "a stream only comes as "+string(api.MediaEvents))
	}
	p := pollRequest{Query: page.Query{Limit: page.MaxLimit}}
	var seen seenParams
	prob := api.Params(r.URL.RawQuery, func(name, value string) *wire.Problem {
		switch name {
		case "warehouse", "subscriber", "type", "after", "since":
			return p.set(&seen, name, value)
		}
		return api.UnknownParameter(name)
	})
	if prob == nil {
		prob = p.finish(auth.From(r.Context()))
	}
	if last := api.HeaderValue(r, "Last-Event-Id"); prob == nil && last != "" {
		p.After, p.Since = last, 0
	}
	return p.Query, prob
}

// noticeStream is a stream of notices.
type noticeStream struct {
	stream.Stream

	feed     *feed
	langs    []string
	language string     // The Accept-Language header that langs was read from.
	place    page.Query // The query with the stream's cursor, until the stream is live.
	at       int        // Index in feed.live while the stream is live; guarded by feed.mu.
	unread   int        // The number that the client has; -1 = none yet. Guarded by feed.mu while the stream is live.
	more     bool       // The client knows that there are more unread notices than unread. Guarded like unread.
}

// enter admits a stream of notices. The caller must end the stream.
func (fs *feeds) enter(id *auth.Identity, q page.Query, language string) (*noticeStream, *wire.Problem) {
	s := &noticeStream{place: q, langs: api.Languages(language), language: language, unread: -1}
	return s, fs.hub.Enter(id, &s.Stream, func() stream.Source {
		s.feed = fs.of(&q)
		return s
	})
}

// Drop implements stream.Source.
func (s *noticeStream) Drop() { s.feed.remove(s) }

// Release implements stream.Source.
func (s *noticeStream) Release() { s.feed.all.release(s.feed) }

// take queues the events of a page for the client.
func (s *noticeStream) take(l *leaflet) {
	var parts [][]byte
	if len(l.events) > 0 {
		parts = append(parts, l.events)
	}
	if s.unread != l.unread || s.more != l.more {
		s.unread, s.more = l.unread, l.more
		parts = append(parts, l.count)
	}
	s.Push(parts...)
}

// catchUp sends the first page and all further pages, until there are no more.
func (s *noticeStream) catchUp(ctx context.Context, pg page.Page) error {
	for {
		l, err := newLeaflet(&pg, s.langs)
		if err != nil {
			return err
		}
		s.take(l)
		s.Flush()
		s.place.After, s.place.Since = pg.Cursor, 0
		if !pg.More || s.Over() {
			return nil
		}
		if pg, err = s.feed.all.inbox.Poll(ctx, s.place); err != nil {
			return err
		}
	}
}

// follow queues everything that arrived since the stream caught up. follow returns true if known, the cursor of the
// feed, is past everything that arrived.
func (s *noticeStream) follow(ctx context.Context, known page.Cursor) (bool, error) {
	alike := true
	for {
		pg, err := s.feed.all.inbox.Poll(ctx, s.place)
		if err != nil {
			return false, err
		}
		l, err := newLeaflet(&pg, s.langs)
		if err != nil {
			return false, err
		}
		s.take(l)
		s.place.After = pg.Cursor
		alike = alike && !pg.More && !bringsNew(&pg, known)
		if !pg.More {
			return alike, nil
		}
	}
}

// bringsNew tells whether the page has something after known, the cursor of the feed, or belongs to another epoch.
func bringsNew(pg *page.Page, known page.Cursor) bool {
	at, err := page.DecodeCursor(pg.Cursor)
	if err != nil || at.Epoch != known.Epoch || at.Score < known.Score || at.Changes < known.Changes {
		return true
	}
	n, c := len(pg.Notices), len(pg.Changes)
	return n > 0 && pg.Notices[n-1].Score > known.Score || c > 0 && pg.Changes[c-1].Score > known.Changes
}

// leaflet is a page as events, encoded once for all streams of one language.
type leaflet struct {
	events []byte
	count  []byte // The event unread.
	unread int
	more   bool
}

// newLeaflet encodes a page as events: reset, changes and notices. The id of an event is the cursor after the event.
// Changes with the same time share one cursor, and only the last of them has an id: a client that reconnects must not
// miss the others.
func newLeaflet(pg *page.Page, langs []string) (*leaflet, error) {
	steps, err := pg.Events()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if pg.Reset {
		start, err := pg.Start()
		if err != nil {
			return nil, err
		}
		stream.WriteEvent(&b, "reset", start, newResetForm(pg))
	}
	for _, step := range steps {
		if step.Notice != nil {
			v := *step.Notice
			v.Notice = api.Localize(v.Notice, langs)
			stream.WriteEvent(&b, "notice", step.Cursor, v)
		}
		for i, c := range step.Changes {
			id := ""
			if i == len(step.Changes)-1 {
				id = step.Cursor
			}
			stream.WriteEvent(&b, "change", id, wire.NoticeChangeForm{ID: c.ID, Kind: c.Kind})
		}
	}
	l := &leaflet{events: b.Bytes(), unread: pg.Unread, more: pg.UnreadMore}
	var count bytes.Buffer
	stream.WriteEvent(&count, "unread", pg.Cursor, wire.UnreadForm{Unread: pg.Unread, UnreadMore: pg.UnreadMore})
	l.count = count.Bytes()
	return l, nil
}

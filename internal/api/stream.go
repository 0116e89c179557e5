package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"tallyman/internal/api/stream"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// Stream serves GET /api/v1/notices/Stream: the page that a poll would give and all that follows, as events.
func (a *API) stream(w http.ResponseWriter, r *http.Request) {
	q, prob := newStreamQuery(r)
	if prob != nil {
		writeProblem(w, prob, problemMedia(r))
		return
	}
	if r.Method == http.MethodHead { // the mux brings it here, too
		stream.SetHeader(w.Header())
		return
	}
	s, prob := a.feeds.enter(auth.From(r.Context()), q, header(r, "Accept-Language")) //nolint:contextcheck // feeds poll for many streams
	if prob != nil {
		writeProblem(w, prob, problemMedia(r))
		return
	}
	defer s.Abandon()
	pg, err := a.deps.Inbox.Poll(r.Context(), s.place)
	if err != nil {
		a.pollFailed(w, r, err, problemMedia(r))
		return
	}
	s.Serve(w, r, func(ctx context.Context) { a.follow(ctx, s, pg) })
}

// follow brings a stream to the present and leaves it to its feed.
func (a *API) follow(ctx context.Context, s *noticeStream, pg page.Page) {
	err := s.catchUp(ctx, pg)
	if err == nil {
		err = s.feed.join(ctx, s)
	}
	switch {
	case err == nil:
	case Gone(ctx):
		s.End(stream.Gone)
	case errors.Is(err, page.ErrUnavailable):
		s.End(stream.Unavailable)
	default:
		a.log.LogAttrs(ctx, slog.LevelError, "a stream failed", slog.Any("error", err))
		s.End(stream.Failed)
	}
}

// newStreamQuery reads the request. A client that comes back says by Last-Event-ID where it was, whatever its address says.
func newStreamQuery(r *http.Request) (page.Query, *wire.Problem) {
	if !acceptsEvents(r) {
		return page.Query{}, wire.NewProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable, "streams come as "+string(MediaEvents)+", and in no other form")
	}
	p := poll{Query: page.Query{Limit: page.MaxLimit}}
	var seen seenParams
	prob := params(r.URL.RawQuery, func(name, value string) *wire.Problem {
		switch name {
		case "warehouse", "subscriber", "type", "after", "since":
			return p.set(&seen, name, value)
		}
		return unknownParameter(name)
	})
	if prob == nil {
		prob = p.finish(auth.From(r.Context()))
	}
	if last := header(r, "Last-Event-Id"); prob == nil && last != "" {
		p.After, p.Since = last, 0
	}
	return p.Query, prob
}

package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// mediaEvents is the form of streams.
const mediaEvents = "text/event-stream"

// stream serves GET /api/v1/notices/stream: the page that a poll would give and all that follows, as events.
func (a *API) stream(w http.ResponseWriter, r *http.Request) {
	q, prob := newStreamQuery(r)
	if prob != nil {
		writeProblem(w, prob, problemMedia(r))
		return
	}
	if r.Method == http.MethodHead { // the mux brings it here, too
		streamHeader(w.Header())
		return
	}
	s, prob := a.streams.enterNotices(auth.From(r.Context()), q, header(r, "Accept-Language")) //nolint:contextcheck // feeds poll for many streams
	if prob != nil {
		writeProblem(w, prob, problemMedia(r))
		return
	}
	defer s.abandon()
	pg, err := a.deps.Inbox.Poll(r.Context(), s.place)
	if err != nil {
		a.pollFailed(w, r, err, problemMedia(r))
		return
	}
	a.serveStream(w, r, &s.stream, func(ctx context.Context) { a.follow(ctx, s, pg) })
}

// serveStream begins a stream that was admitted, and has it brought to the present.
func (a *API) serveStream(w http.ResponseWriter, r *http.Request, s *stream, follow func(ctx context.Context)) {
	streamHeader(w.Header())
	l, hold, err := openLine(w, r, func() { s.end(StreamGone) })
	if err != nil {
		return // the client has gone
	}
	a.log.LogAttrs(r.Context(), slog.LevelDebug, "a stream begins", requestAttrs(w, r)...)
	s.begin(l)
	follow(r.Context())
	s.write()
	if hold {
		select {
		case <-s.done:
		case <-r.Context().Done():
			s.end(StreamGone)
			<-s.done
		}
	}
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
		s.end(StreamGone)
	case errors.Is(err, page.ErrUnavailable):
		s.end(StreamUnavailable)
	default:
		a.log.LogAttrs(ctx, slog.LevelError, "a stream failed", slog.Any("error", err))
		s.end(StreamFailed)
	}
}

// newStreamQuery reads the request. A client that comes back says by Last-Event-ID where it was, whatever its address says.
func newStreamQuery(r *http.Request) (page.Query, *wire.Problem) {
	if !acceptsEvents(r) {
		return page.Query{}, wire.NewProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable, "streams come as "+mediaEvents+", and in no other form")
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

// acceptsEvents tells whether the client takes a stream.
func acceptsEvents(r *http.Request) bool {
	accept := header(r, "Accept")
	if accept == "" {
		return true
	}
	best, weight := 0, 0.0
	for item := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(item, ";")
		if at := matches(strings.ToLower(strings.TrimSpace(name)), mediaEvents, ""); at > 0 && at >= best {
			best, weight = at, quality(params)
		}
	}
	return weight > 0
}

// streamHeader sets what a stream's answer has: no cache may keep it and no proxy hold it back.
func streamHeader(h http.Header) {
	h["Content-Type"] = []string{mediaEvents}
	h["Cache-Control"] = []string{"no-cache, no-store, no-transform, private"}
	h["X-Accel-Buffering"] = []string{"no"}
	h["Vary"] = append(slices.Clip(h["Vary"]), vary...)
}

package inbox

import (
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

// Stream serves GET /api/v1/notices/Stream: the page that a poll would give and all that follows, as events.
func (h *Handlers) stream(w http.ResponseWriter, r *http.Request) {
	q, prob := newStreamQuery(r)
	if prob != nil {
		api.WriteProblem(w, prob, api.ProblemMedia(r))
		return
	}
	if r.Method == http.MethodHead { // the mux brings it here, too
		stream.SetHeader(w.Header())
		return
	}
	s, prob := h.feeds.enter(auth.From(r.Context()), q, api.HeaderValue(r, "Accept-Language")) //nolint:contextcheck // feeds poll for many streams
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

// follow brings a stream to the present and leaves it to its feed.
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
		h.log.LogAttrs(ctx, slog.LevelError, "a stream failed", slog.Any("error", err))
		s.End(stream.Failed)
	}
}

// newStreamQuery reads the request. A client that comes back says by Last-Event-ID where it was, whatever its address says.
func newStreamQuery(r *http.Request) (page.Query, *wire.Problem) {
	if !api.AcceptsEvents(r) {
		return page.Query{}, wire.NewProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable, "streams come as "+string(api.MediaEvents)+", and in no other form")
	}
	p := poll{Query: page.Query{Limit: page.MaxLimit}}
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

package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"tallyman/internal/auth"
	"tallyman/internal/logging"
	"tallyman/internal/trace"
)

// Meter counts requests.
type Meter interface {
	// RequestDone counts a request by the id of its operation and the HTTP status of its answer.
	RequestDone(operation string, status int)
}

// Streams are the open streams of server-sent events.
type Streams interface {
	// Drain ends all streams, and refuses new ones.
	Drain()
}

// Deps are the dependencies of the API. All fields are needed, except the fields whose comment gives a meaning to nil.
type Deps struct {
	SinkTypes []string // All types of sinks, for the OpenAPI document.
	// Ready returns nil, or an error for each thing that is not ready, joined with errors.Join.
	Ready    func(ctx context.Context) error
	Unwell   func() []string // Names the parts that are not well on a ready node. Must not block. nil = no such parts.
	Auth     auth.Authenticator
	HTTP     HTTP
	Streams  Streams
	Gatherer prometheus.Gatherer
	Meter    Meter
	Pages    Pages // nil = no pages.
	Logger   *slog.Logger
	Tracer   *trace.Tracer // nil = no traces.
	Version  string        // Version of the program, for the OpenAPI document.
}

// API is the handler of all requests.
type API struct {
	deps       Deps
	rooms      []Room
	log        *slog.Logger
	handler    http.Handler
	spec       func() []byte       // Returns the OpenAPI document.
	operations map[string]string   // Ids of operations by route.
	bodies     map[string]bodyRule // Rules by the id of the operation.
	waiters    *Waiters
	ids        requestIDs
	bounds     bounds
	callers    *callers
	refusals   logging.Burst // Limits the log lines about unknown callers.
}

// New makes the API of the rooms.
func New(deps Deps, rooms ...Room) *API {
	a := &API{deps: deps, rooms: rooms, waiters: &Waiters{}, log: deps.Logger, ids: newRequestIDs(), bounds: defaultBounds(), callers: newCallers(deps.Auth, deps.HTTP.Rate)}
	a.refusals = logging.Burst{Window: refusalsWindow, Own: mostRefusalLines, Rest: func(n int) {
		a.log.LogAttrs(context.Background(), slog.LevelInfo, "Further requests were refused.", slog.Int("count", n))
	}}
	routes := newRouter()
	a.spec = a.register(routes)
	a.handler = a.outer(onceOnly(a.withPages(a.traced(routes, a.shared(a.limited(a.authenticated(a.sameOrigin(a.counted(routes)))))))))
	return a
}

// ServeHTTP serves one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Pages serves the pages of the console. Where the request is not for a page, Serve does nothing and returns false.
type Pages interface {
	Serve(w http.ResponseWriter, r *http.Request) bool
}

// withPages serves pages without a token. The pages contain no data of the warehouse: they load all data through the
// API.
func (a *API) withPages(next http.Handler) http.Handler {
	if a.deps.Pages == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.deps.Pages.Serve(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

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
	RequestDone(operation string, status int)
}

// Streams are the answers that have no end of their own.
type Streams interface {
	// Drain ends all of them, and lets no new ones begin.
	Drain()
}

// Deps is what the API is made of. Every field is needed but those that say what nil means.
type Deps struct {
	SinkTypes []string // that there are
	// Ready returns nil, or an error for each thing that is not ready, joined with errors.Join.
	Ready    func(ctx context.Context) error
	Unwell   func() []string // what is not well on a node that is ready, without errors; it answers at once. nil = nobody looks
	Auth     auth.Authenticator
	HTTP     HTTP
	Streams  Streams
	Gatherer prometheus.Gatherer
	Meter    Meter
	Pages    Pages // nil = none
	Logger   *slog.Logger
	Tracer   *trace.Tracer // nil = no traces
	Version  string        // of the program, for the OpenAPI document
}

// API is the handler of everything that Tallyman serves.
type API struct {
	deps       Deps
	rooms      []Room
	log        *slog.Logger
	handler    http.Handler
	spec       func() []byte       // the OpenAPI document
	operations map[string]string   // their ids by route
	bodies     map[string]bodyRule // by the ids of operations
	waiters    *Waiters
	ids        requestIDs
	bounds     bounds
	callers    *callers
	refusals   logging.Burst // lines about callers that are not known
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

// Pages serves what people look at: the console. Serve reports false, and has done nothing, where the request is for no page.
type Pages interface {
	Serve(w http.ResponseWriter, r *http.Request) bool
}

// withPages answers for pages before anybody is asked for a token: they hold nothing of the warehouse, and load what they show
// through the API.
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

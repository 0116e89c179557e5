package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tallyman/internal/api/stream"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/trace"
	"tallyman/internal/wire"
)

// Meter counts polls, whose outcome is one of the Poll… constants, and streams.
type Meter interface {
	PollDone(outcome string, took time.Duration)
	RequestDone(operation string, status int)
	StreamOpened()
	// StreamEnded gives one of the Stream… constants.
	StreamEnded(reason string)
}

// Deliveries is how deliveries stand and what operators do to them; see ledger.Operated and its neighbours for what each
// method promises.
type Deliveries interface {
	ledger.Operated
	CountDeliveries(ctx context.Context) (map[string]map[ledger.DeliveryState]int64, error)
	Trace(ctx context.Context, rule, scope string, keys, ids []string, limit int) ([]ledger.Traced, error)
	MarksOf(ctx context.Context, notice string) ([]ledger.Mark, error)
	ledger.Search
}

// RuleClock is what an overview asks the engine.
type RuleClock interface {
	Now() time.Time // of the rules
	Switches() []ledger.Switch
}

// Deps is what the API is made of. Every field is needed but Queues and those that say what nil means.
type Deps struct {
	Inbox      Inbox
	Queues     map[string]view.ServedQueue // by name
	Marks      Marks
	Reads      ReadState // the inbox
	Deliveries Deliveries
	Sinks      map[string]view.ServedSink // by name
	SinkTypes  []string                   // that there are
	Rules      RuleClock
	RuleFiles  func() view.RuleFiles
	// Status reports the state of the whole; it answers even where parts of it are out of reach.
	Status   func(ctx context.Context) (wire.StatusReport, error)
	Overview Overview
	// RuleCount is how the rules are that watch a warehouse, as it was some seconds ago at most: it is asked often.
	RuleCount func(ctx context.Context, warehouse string) wire.RuleCount
	// Ready returns nil, or an error for each thing that is not ready, joined with errors.Join.
	Ready    func(ctx context.Context) error
	Auth     auth.Authenticator
	HTTP     HTTP
	Streams  stream.Limits
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
	streams    *stream.Hub
	feeds      *feeds
	lookout    *lookout
	overviews  *overviewStreams
	ids        requestIDs
	bounds     bounds
	callers    *callers
}

// New makes the API of the rooms.
func New(deps Deps, rooms ...Room) *API {
	a := &API{deps: deps, rooms: rooms, waiters: &Waiters{}, log: deps.Logger, ids: newRequestIDs(), bounds: defaultBounds(), callers: newCallers(deps.Auth, deps.HTTP.Rate)}
	a.streams = stream.NewHub(deps.Streams, deps.Meter, deps.Logger)
	a.feeds = newFeeds(a.streams, deps.Inbox, deps.Logger)
	a.lookout = newLookout(&a.deps)
	a.overviews = &overviewStreams{lookout: a.lookout, live: map[*overviewStream]struct{}{}}
	routes := newRouter()
	a.spec = a.register(routes)
	a.handler = a.outer(onceOnly(a.withPages(a.traced(routes, a.shared(a.limited(a.authenticated(a.sameOrigin(a.counted(routes)))))))))
	return a
}

// ServeHTTP serves one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

package api_test

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tallyman/engine"
	"tallyman/engine/trial/preview"
	"tallyman/internal/api"
	"tallyman/internal/api/deliveries"
	"tallyman/internal/api/inbox"
	"tallyman/internal/api/operate"
	"tallyman/internal/api/overview"
	"tallyman/internal/api/queues"
	"tallyman/internal/api/rulebook"
	"tallyman/internal/api/search"
	"tallyman/internal/api/send"
	"tallyman/internal/api/stream"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/authoring"
	"tallyman/internal/ledger"
	"tallyman/internal/trace"
	"tallyman/internal/wire"
)

// liveRules are what rooms ask of the running rules.
type liveRules interface {
	rulebook.Rules
	operate.Rules
}

// parts is all that the API of a bundle is made of: what the API itself takes, and its rooms.
type parts struct {
	Inbox      inbox.Inbox
	Queues     map[string]view.ServedQueue
	Catalogue  operate.Catalogue
	Book       ledger.Book
	Marks      ledger.Marker
	Reads      inbox.ReadState
	Sends      send.Sends
	Deliveries history
	Notices    queues.Notices
	Sinks      map[string]view.ServedSink
	Rules      liveRules
	History    rulebook.RuleHistory
	RuleFiles  func() view.RuleFiles
	Reload     func(ctx context.Context, who ledger.Author) (wire.Reloaded, error)
	Tokens     ledger.TokenEditor
	Silences   operate.Silences
	Clock      operate.Clock
	Log        *operate.Log
	Drain      operate.Drain
	Preview    func(ctx context.Context, q authoring.PreviewRequest) (*preview.Report, error)
	Rewind     func(ctx context.Context, q authoring.RewindRequest) ([]authoring.RewoundScope, error)
	RuleSource func(ctx context.Context, id string) (*wire.RuleSource, error)
	Draft      func(ctx context.Context, q authoring.DraftRequest) (*authoring.DraftResult, error)
	Status     func(ctx context.Context) (wire.StatusReport, error)
	Overview   overviewed
	RuleCount  func(ctx context.Context, warehouse string) wire.RuleCount
	Ready      func(ctx context.Context) error
	Unwell     func() []string
	Auth       auth.Authenticator
	HTTP       api.HTTP
	Streams    stream.Limits
	Gatherer   prometheus.Gatherer
	Meter      meter
	Audit      audit
	Pages      api.Pages
	Logger     *slog.Logger
	Tracer     *trace.Tracer
	Version    string

	// The streams of the API that newAPI has made last, its inbox and its overview.
	streams  *stream.Hub
	inbox    *inbox.Handlers
	overview *overview.Handlers
}

// meter counts for all of them.
type meter interface {
	api.Meter
	inbox.Meter
	overview.Meter
	send.Meter
	stream.Meter
}

// history is what the ledger knows of notices and deliveries.
type history interface {
	deliveries.Ledger
	search.Ledger
}

// overviewed is what overviews are made of that other answers are not.
type overviewed struct {
	Ledger   overviewCounts
	Standing func(ctx context.Context) ([]engine.RuleStatus, error)
	Node     func(ctx context.Context) overview.NodeReport
}

// overviewCounts is what the ledger counts for overviews alone.
type overviewCounts interface {
	ledger.Overviews
	ledger.Samples
	Promotions(ctx context.Context) ([]ledger.Promotion, error)
}

// overviewLedger is the ledger of overviews.
type overviewLedger struct {
	overviewCounts
	history
}

// audit keeps the records of changes.
type audit interface {
	ledger.AuditReader
	ledger.AuditWriter
}

// newAPI makes the API with all its rooms.
func newAPI(p *parts) *api.API {
	rooms := p.rooms()
	return api.New(p.core(), rooms...)
}

// patterns are the routes of the API.
func patterns(p *parts) []string {
	rooms := p.rooms()
	return api.Patterns(p.core(), rooms...)
}

func (p *parts) core() api.Deps {
	return api.Deps{
		Ready:    p.Ready,
		Unwell:   p.Unwell,
		Auth:     p.Auth,
		HTTP:     p.HTTP,
		Streams:  p.streams,
		Gatherer: p.Gatherer,
		Meter:    p.Meter,
		Pages:    p.Pages,
		Logger:   p.Logger,
		Tracer:   p.Tracer,
		Version:  p.Version,

		SinkTypes: []string{"inbox", "queue", "webhook", "mail", "chat", "stdout"},
	}
}

func (p *parts) rooms() []api.Room {
	p.streams = stream.NewHub(p.Streams, p.Meter, p.Logger)
	p.inbox = inbox.New(inbox.Deps{
		Inbox: p.Inbox, Reads: p.Reads, Marks: p.Marks, RuleCount: p.RuleCount, Streams: p.streams, Meter: p.Meter, Logger: p.Logger,
	})
	p.overview = overview.New(overview.Deps{
		Ledger: overviewLedger{p.Overview.Ledger, p.Deliveries}, Rules: p.Rules, Standing: p.Overview.Standing, RuleFiles: p.RuleFiles, Node: p.Overview.Node,
		Status: p.Status, Queues: p.Queues, Sinks: p.Sinks, Real: func(d time.Duration) time.Duration { return d }, Meter: p.Meter, Streams: p.streams, Logger: p.Logger,
	})
	return []api.Room{
		p.inbox,
		search.New(search.Deps{Ledger: p.Deliveries, Types: p.Catalogue.Types, Queues: p.Queues, Logger: p.Logger}),
		p.overview,
		operate.New(operate.Deps{
			Catalogue: p.Catalogue, Sinks: siteSinks, Book: p.Book, Origins: fakeOrigins{}, Silences: p.Silences, Clock: p.Clock, Log: p.Log, Drain: p.Drain, Tokens: p.Tokens, Audit: p.Audit, Rules: p.Rules, Logger: p.Logger,
		}),
		queues.New(queues.Deps{Queues: p.Queues, Notices: p.Notices, Logger: p.Logger}),
		rulebook.New(rulebook.Deps{
			Rules: p.Rules, History: p.History, RuleFiles: p.RuleFiles, Reload: p.Reload, Preview: p.Preview, Rewind: p.Rewind, RuleSource: p.RuleSource, Draft: p.Draft,
			Scopes: fakeScopes{}, Audit: p.Audit, Logger: p.Logger,
		}),
		send.New(send.Deps{Sends: p.Sends, Types: p.Catalogue.Types, Sinks: siteSinks, Meter: p.Meter, Tracer: p.Tracer, Logger: p.Logger}),
		deliveries.New(deliveries.Deps{Deliveries: p.Deliveries, Types: p.Catalogue.Types, Rule: func(id string) error { return p.Rules.Find(id, nil) }, Wake: p.Sends.Wake, Now: func() time.Time { return bin().CreatedAt.Add(5 * time.Minute) }, Sinks: p.Sinks, Logger: p.Logger}),
	}
}

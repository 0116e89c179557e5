package api_test

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"tallyman/engine/trial/preview"
	"tallyman/internal/api"
	"tallyman/internal/api/deliveries"
	"tallyman/internal/api/operate"
	"tallyman/internal/api/queues"
	"tallyman/internal/api/rules"
	"tallyman/internal/api/send"
	"tallyman/internal/api/stream"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/authoring"
	"tallyman/internal/ledger"
	"tallyman/internal/trace"
	"tallyman/internal/wire"
)

// parts is all that the API of a bundle is made of: what the API itself takes, and its rooms.
type parts struct {
	Inbox      api.Inbox
	Queues     map[string]view.ServedQueue
	Catalogue  operate.Catalogue
	Book       ledger.Book
	Marks      api.Marks
	Reads      api.ReadState
	Sends      send.Sends
	Deliveries api.Deliveries
	Sinks      map[string]view.ServedSink
	Rules      rules.Rules
	History    rules.RuleHistory
	RuleFiles  func() view.RuleFiles
	Reload     func(ctx context.Context, who ledger.Author) (wire.Reloaded, error)
	Tokens     operate.Tokens
	Silences   operate.Silences
	Preview    func(ctx context.Context, q authoring.PreviewRequest) (*preview.Report, error)
	RuleSource func(id string) (*wire.RuleSource, error)
	Draft      func(ctx context.Context, q authoring.DraftRequest) (*authoring.DraftResult, error)
	Status     func(ctx context.Context) (wire.StatusReport, error)
	Overview   api.Overview
	RuleCount  func(ctx context.Context, warehouse string) wire.RuleCount
	Ready      func(ctx context.Context) error
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
}

// meter counts for all of them.
type meter interface {
	api.Meter
	send.Meter
}

// audit keeps the records of changes.
type audit interface {
	operate.Audit
	rules.Audit
}

// newAPI makes the API with all its rooms.
func newAPI(p *parts) *api.API { return api.New(p.core(), p.rooms()...) }

// patterns are the routes of the API.
func patterns(p *parts) []string { return api.Patterns(p.core(), p.rooms()...) }

func (p *parts) core() api.Deps {
	return api.Deps{
		Inbox:      p.Inbox,
		Queues:     p.Queues,
		Marks:      p.Marks,
		Reads:      p.Reads,
		Deliveries: p.Deliveries,
		Sinks:      p.Sinks,
		Rules:      p.Rules,
		RuleFiles:  p.RuleFiles,
		Status:     p.Status,
		Overview:   p.Overview,
		RuleCount:  p.RuleCount,
		Ready:      p.Ready,
		Auth:       p.Auth,
		HTTP:       p.HTTP,
		Streams:    p.Streams,
		Gatherer:   p.Gatherer,
		Meter:      p.Meter,
		Pages:      p.Pages,
		Logger:     p.Logger,
		Tracer:     p.Tracer,
		Version:    p.Version,
	}
}

func (p *parts) rooms() []api.Room {
	return []api.Room{
		operate.New(operate.Deps{
			Catalogue: p.Catalogue, Book: p.Book, Silences: p.Silences, Tokens: p.Tokens, Audit: p.Audit, Rules: p.Rules, Logger: p.Logger,
		}),
		queues.New(queues.Deps{Queues: p.Queues, Logger: p.Logger}),
		rules.New(rules.Deps{
			Rules: p.Rules, History: p.History, RuleFiles: p.RuleFiles, Reload: p.Reload, Preview: p.Preview, RuleSource: p.RuleSource, Draft: p.Draft,
			Audit: p.Audit, Logger: p.Logger,
		}),
		send.New(send.Deps{Sends: p.Sends, Types: p.Catalogue.Types, Meter: p.Meter, Tracer: p.Tracer, Logger: p.Logger}),
		deliveries.New(deliveries.Deps{Deliveries: p.Deliveries, Wake: p.Sends.Wake, Sinks: p.Sinks, Logger: p.Logger}),
	}
}

package app

import (
	"context"

	"tallyman/engine/why"
	"tallyman/internal/api"
	"tallyman/internal/api/deliveries"
	"tallyman/internal/api/inbox"
	"tallyman/internal/api/metrics"
	"tallyman/internal/api/operate"
	"tallyman/internal/api/overview"
	"tallyman/internal/api/queues"
	"tallyman/internal/api/rulebook"
	"tallyman/internal/api/search"
	"tallyman/internal/api/send"
	"tallyman/internal/api/stream"
	"tallyman/internal/authoring"
	"tallyman/internal/ledger"
	"tallyman/internal/logging"
	"tallyman/internal/wire"
)

// servedLog returns the log as operators see it.
func (a *App) servedLog() *operate.Log {
	configured, _ := logging.ParseLevel(a.cfg.Telemetry.Log.Level) // No error: a checked configuration is valid.
	return &operate.Log{Node: a.opts.Node, Level: a.opts.LogLevel, Configured: configured}
}

// rooms returns the parts of the API, each with the parts of the node that it needs.
func (a *App) rooms(meter *metrics.Metrics, streams *stream.Hub, counts *ruleCounts) []api.Room {
	a.overview = overview.New(overview.Deps{
		Ledger: a.ledger, Rules: a.engine, Standing: a.engine.Standing, RuleFiles: a.ruleFiles, Node: a.node, Status: a.status,
		Queues: a.index.served(), Sinks: a.servedSinks(), Real: a.opts.Clock.Real, Meter: meter, Streams: streams, Logger: a.log,
	})
	return []api.Room{
		inbox.New(inbox.Deps{
			Inbox: a.index.inbox, Reads: a.index.inbox, Marks: a.ledger, RuleCount: counts.of, Streams: streams, Meter: meter, Logger: a.log,
		}),
		search.New(search.Deps{Ledger: a.ledger, Types: a.ledger.Types, Queues: a.index.served(), Logger: a.log}),
		a.overview,
		operate.New(operate.Deps{
			Catalogue: a.ledger, Sinks: authoring.Sinks(a.cfg), Book: a.ledger, Origins: a.ledger, Origin: a.originName(), Silences: a.servedSilences(), Clock: a.servedClock(), Log: a.servedLog(), Drain: a, Tokens: a.tokens, Audit: a.ledger, Rules: a.engine, Logger: a.log,
		}),
		queues.New(queues.Deps{Queues: a.index.served(), Notices: a.ledger, Logger: a.log}),
		rulebook.New(rulebook.Deps{
			Rules: ruleDesk{a.engine, why.New(a.engine, a.ledger, &a.silences)}, History: a.ledger, RuleFiles: a.ruleFiles, Preview: a.authoring.Preview, Rewind: a.authoring.Rewind, RuleSource: a.ruleSource, Draft: a.authoring.Draft, Scopes: scopeDesk{a.ledger, a.book}, Audit: a.ledger,
			Reload: func(ctx context.Context, who ledger.Author) (wire.Reloaded, error) {
				return a.book.reload(ctx, "request", who)
			}, Logger: a.log,
		}),
		send.New(send.Deps{Sends: a.sends(), Types: a.ledger.Types, Sinks: authoring.Sinks(a.cfg), Meter: meter, Tracer: a.tracer, Logger: a.log}),
		deliveries.New(deliveries.Deps{
			Deliveries: a.ledger, Types: a.ledger.Types, Rule: func(id string) error { return a.engine.Find(id, nil) }, Wake: a.engine.Wake, Now: a.opts.Clock.Now,
			Sinks: a.servedSinks(), Logger: a.log,
		}),
	}
}

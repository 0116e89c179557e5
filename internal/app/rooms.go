package app

import (
	"context"

	"tallyman/engine/why"
	"tallyman/internal/api"
	"tallyman/internal/api/deliveries"
	"tallyman/internal/api/metrics"
	"tallyman/internal/api/operate"
	"tallyman/internal/api/queues"
	apirules "tallyman/internal/api/rules"
	"tallyman/internal/api/send"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// rooms are the parts of the API, each with what it needs of the node.
func (a *App) rooms(meter *metrics.Metrics) []api.Room {
	return []api.Room{
		operate.New(operate.Deps{
			Catalogue: a.ledger, Book: a.ledger, Silences: a.servedSilences(), Tokens: a.tokens, Audit: a.ledger, Rules: a.engine, Logger: a.log,
		}),
		queues.New(queues.Deps{Queues: a.index.served(), Logger: a.log}),
		apirules.New(apirules.Deps{
			Rules: ruleDesk{a.engine, why.New(a.engine, a.ledger, &a.silences)}, History: a.ledger, RuleFiles: a.ruleFiles, Preview: a.authoring.Preview, RuleSource: a.ruleSource, Draft: a.authoring.Draft, Audit: a.ledger,
			Reload: func(ctx context.Context, who ledger.Author) (wire.Reloaded, error) {
				return a.reload(ctx, "request", who)
			}, Logger: a.log,
		}),
		send.New(send.Deps{Sends: a.sends(), Types: a.ledger.Types, Meter: meter, Tracer: a.tracer, Logger: a.log}),
		deliveries.New(deliveries.Deps{Deliveries: a.ledger, Wake: a.engine.Wake, Sinks: a.servedSinks(), Logger: a.log}),
	}
}

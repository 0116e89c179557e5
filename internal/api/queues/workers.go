package queues

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

type (
	workersInput struct {
		QueuePath

		Warehouse string   `query:"warehouse" doc:"only count items of this warehouse"`
		Test      api.Flag `query:"test" doc:"use the test twin"`
	}
	workersOutput struct{ Body wire.WorkersForm }
)

func (h *Handlers) registerWorkers(operations huma.API) {
	list := api.Operation("list-workers", http.MethodGet, "/queues/{queue}/workers", "queues", "List the workers of a queue")
	list.Description = "The list has the workers that hold leases of items of the token's warehouses, that held such leases recently, or that have items assigned. The latest " +
		"lease comes first. An item can also be assigned to a worker outside of the list."
	huma.Register(operations, list, h.listWorkers)
}

// listWorkers answers GET /queues/{queue}/workers.
func (h *Handlers) listWorkers(ctx context.Context, in *workersInput) (*workersOutput, error) {
	scope, prob := scopeWithin(auth.From(ctx), in.Warehouse)
	if prob != nil {
		return nil, prob
	}
	q, test, prob := h.queueOrTwin(in.Queue, in.Test)
	if prob != nil {
		return nil, prob
	}
	workers, err := q.Workers(ctx, test, scope)
	if err != nil {
		return nil, h.queueFailed(ctx, in.Queue, "", err)
	}
	out := &workersOutput{Body: wire.WorkersForm{Workers: make([]wire.WorkerForm, len(workers))}}
	for i, w := range workers {
		out.Body.Workers[i] = wire.WorkerForm{Name: w.Name, Leased: w.Leased, Assigned: w.Assigned, LastLease: wire.Moment(w.Last)}
	}
	return out, nil
}

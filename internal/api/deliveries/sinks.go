package deliveries

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

type (
	sinkInput struct {
		Name string `path:"sink" doc:"name of the sink in the configuration" example:"gateway"`
	}
	sinksOutput struct{ Body wire.SinksForm }
	sinkOutput  struct{ Body wire.SinkForm }
)

func (h *Handlers) registerSinks(operations huma.API) {
	list := api.Operation("list-sinks", http.MethodGet, "/sinks", "deliveries", "List the sinks and their state")
	list.Description = "Deliveries are counted over all nodes. Breaker, limits and errors come from the node that answers."
	huma.Register(operations, list, h.listSinks)
	huma.Register(operations, api.Operation("get-sink", http.MethodGet, "/sinks/{sink}", "deliveries", "Show a sink and its state"), h.getSink)
}

// listSinks answers GET /sinks.
func (h *Handlers) listSinks(ctx context.Context, _ *struct{}) (*sinksOutput, error) {
	counts, err := view.CountPending(ctx, h.deps.Deliveries, h.deps.Now())
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	out := &sinksOutput{Body: wire.SinksForm{Sinks: []wire.SinkForm{}}}
	for _, name := range slices.Sorted(maps.Keys(h.deps.Sinks)) {
		out.Body.Sinks = append(out.Body.Sinks, view.NewSinkForm(name, h.deps.Sinks[name], &counts))
	}
	if !auth.From(ctx).Everywhere() {
		out.Body.Sinks = api.OwnSinks(out.Body.Sinks)
	}
	return out, nil
}

// getSink answers GET /sinks/{sink}.
func (h *Handlers) getSink(ctx context.Context, in *sinkInput) (*sinkOutput, error) {
	sink, ok := h.deps.Sinks[in.Name]
	if !ok {
		return nil, h.sinkNotFound(in.Name)
	}
	counts, err := view.CountPending(ctx, h.deps.Deliveries, h.deps.Now())
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	form := view.NewSinkForm(in.Name, sink, &counts)
	if !auth.From(ctx).Everywhere() {
		form = api.OwnSinks([]wire.SinkForm{form})[0]
	}
	return &sinkOutput{Body: form}, nil
}

func (h *Handlers) sinkNotFound(name string) *wire.Problem {
	return wire.NewProblem(http.StatusNotFound, wire.CodeSinkNotFound,
		"there is no sink "+policy.Quote(name)+"; there are "+strings.Join(slices.Sorted(maps.Keys(h.deps.Sinks)), ", "))
}

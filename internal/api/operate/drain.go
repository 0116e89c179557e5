package operate

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// Drain takes the node that answers out of service.
type Drain interface {
	// DrainForm says how far the drain is.
	DrainForm() wire.DrainForm
	// AskDrain begins the drain, and returns at once.
	AskDrain()
}

func (h *Handlers) registerDrain(operations huma.API) {
	get := api.Operation("get-drain", http.MethodGet, "/drain", "operations", "Show whether the answering node goes out of service")
	huma.Register(operations, get, h.getDrain)
	ask := api.Operation("drain", http.MethodPost, "/drain", "operations", "Take the answering node out of service")
	ask.Description = "The node answers /readyz with 503, begins nothing new, finishes its runs and gives its lanes back. After node.drain_delay its streams and waiting polls end. " +
		"The process goes on to answer. Only a new start brings the node back into service."
	huma.Register(operations, ask, h.askDrain)
}

type (
	drainInput  struct{ Body wire.DrainAskForm }
	drainOutput struct{ Body wire.DrainForm }
)

// getDrain answers GET /drain.
func (h *Handlers) getDrain(context.Context, *struct{}) (*drainOutput, error) {
	return &drainOutput{Body: h.deps.Drain.DrainForm()}, nil
}

// drainState is the state of a drain in an audit record.
type drainState struct {
	State string `json:"state"`
}

// askDrain answers POST /drain, for callers who see all warehouses. The drain is recorded before it begins.
func (h *Handlers) askDrain(ctx context.Context, in *drainInput) (*drainOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	before := h.deps.Drain.DrainForm()
	if in.Body.Node != before.Node {
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeOtherNode,
			fmt.Sprintf("node %s answers, not node %s; ask the node at its own address, not through a load balancer", before.Node, in.Body.Node))
	}
	if before.State != wire.DrainNone {
		return &drainOutput{Body: before}, nil
	}
	err := api.Record(ctx, h.deps.Audit, &ledger.Change{
		Action: "node.drain", Object: "node:" + before.Node,
		Before: api.StateJSON(drainState{before.State}), After: api.StateJSON(drainState{wire.DrainRuns}),
	})
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.deps.Drain.AskDrain()
	return &drainOutput{Body: h.deps.Drain.DrainForm()}, nil
}

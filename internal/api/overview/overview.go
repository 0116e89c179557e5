package overview

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine"
	"tallyman/internal/api"
	"tallyman/internal/api/stream"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// Deps are the dependencies of the room.
type Deps struct {
	Ledger Ledger
	Rules  Rules
	// Standing returns the state of the rules by their last runs. Together with an error, Standing returns the state
	// without the runs.
	Standing  func(ctx context.Context) ([]engine.RuleStatus, error)
	RuleFiles func() view.RuleFiles
	// Node returns the node and its dependencies. Node returns within seconds.
	Node func(ctx context.Context) NodeReport
	// Status returns the report for GET /status, even if some parts cannot be read.
	Status func(ctx context.Context) (wire.StatusReport, error)
	Queues map[string]view.ServedQueue // By name; may be empty.
	Sinks  map[string]view.ServedSink  // By name.
	// Real converts a duration on the clock of the rules to a duration on the machine's timers.
	Real    func(d time.Duration) time.Duration
	Meter   Meter
	Streams *stream.Hub
	Logger  *slog.Logger
}

// Meter counts samples.
type Meter interface {
	// SampleFailed counts a sample that was not recorded.
	SampleFailed()
}

// Ledger reads the counts for an overview, and keeps the samples.
type Ledger interface {
	ledger.Overviews
	ledger.Samples
	ledger.PromotionReader
	ledger.DeliveryCounts
}

// Rules is the part of the engine that an overview needs.
type Rules interface {
	Now() time.Time // By the clock of the rules.
	Switches() []ledger.Switch
}

// NodeReport is a node and its dependencies.
type NodeReport struct {
	Node, Version string
	Health        []wire.Health
	Nodes         []wire.NodeStatus
}

// Handlers serves the overview, its stream, and the status.
type Handlers struct {
	deps     Deps
	log      *slog.Logger
	lookout  *lookout
	watchers *watchers
}

// New makes the room.
func New(deps Deps) *Handlers {
	h := &Handlers{deps: deps, log: deps.Logger}
	h.lookout = newLookout(&h.deps)
	h.watchers = &watchers{lookout: h.lookout, live: map[*watcher]struct{}{}}
	return h
}

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) {
	h.registerOverview(operations)
	h.registerHistory(operations)
	h.registerFailures(operations)
	huma.Register(operations, api.Operation("status", http.MethodGet, "/status", "operations", "Show the state of the node, its rules and deliveries"), h.status)
	operations.Handle(streamOperation(), h.stream)
}

type (
	lookInput struct {
		Warehouses []string `query:"warehouse,explode" doc:"only these warehouses; repeat it for more than one. By default all warehouses of the token" nullable:"false"`
	}
	lookOutput struct{ Body *wire.OverviewForm }
)

func (h *Handlers) registerOverview(operations huma.API) {
	get := api.Operation("overview", http.MethodGet, "/overview", "operations", "Show the state of the whole system at a glance")
	get.Description = "The answer has rules by health, notices by hour, findings by warehouse, queues, sinks, nodes and dependencies. A node reads these facts at most every " +
		"two seconds, for all callers together. The node answers even where it cannot read some parts. The answer has only the rules, notices, findings and items of the " +
		"token's warehouses; sinks have no warehouses."
	huma.Register(operations, get, h.overview)
}

// overview answers GET /overview.
func (h *Handlers) overview(ctx context.Context, in *lookInput) (*lookOutput, error) {
	warehouses, prob := warehousesOf(auth.From(ctx), in.Warehouses)
	if prob != nil {
		return nil, prob
	}
	return &lookOutput{h.lookout.look(ctx).form(warehouses, auth.From(ctx).Everywhere())}, nil
}

// warehousesOf returns the requested warehouses, or else all warehouses of the caller; none = all warehouses.
func warehousesOf(who *auth.Identity, asked []string) ([]string, *wire.Problem) {
	var list []string
	for _, warehouse := range asked {
		switch {
		case warehouse == "":
			continue
		case !api.IsName(warehouse):
			return nil, api.BadWarehouse(http.StatusBadRequest, "warehouse", warehouse)
		}
		if prob := api.InWarehouse(who, warehouse); prob != nil {
			return nil, prob
		}
		list = append(list, warehouse)
	}
	if list == nil && !who.Everywhere() {
		list = slices.Clone(who.Warehouses)
		if len(list) == 0 {
			return nil, api.Denied(wire.CodeWarehouseDenied, "this operation needs a warehouse"+api.Yours(nil))
		}
	}
	return api.SortedUnique(list), nil
}

type statusOutput struct{ Body wire.StatusReport }

// status answers GET /status.
func (h *Handlers) status(ctx context.Context, _ *struct{}) (*statusOutput, error) {
	report, err := h.deps.Status(ctx)
	if err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "Status of the node could not be made.", slog.Any("error", err))
		return nil, api.InternalProblem()
	}
	if who := auth.From(ctx); !who.Everywhere() {
		report.Rules = slices.DeleteFunc(report.Rules, func(r wire.RuleStatus) bool { return !api.Concerns(who, r.Scope) })
		report.Problems = api.OwnProblems(ctx, report.Problems, func(rule string) bool {
			return slices.ContainsFunc(report.Rules, func(r wire.RuleStatus) bool { return r.ID == rule })
		})
		report.Health = api.OwnHealth(report.Health)
		report.Sinks = api.OwnSinks(report.Sinks)
	}
	report.Health = wire.NotNil(report.Health)
	report.Nodes = wire.NotNil(report.Nodes)
	report.Rules = wire.NotNil(report.Rules)
	report.Problems = wire.NotNil(report.Problems)
	report.Deliveries = wire.NotNil(report.Deliveries)
	report.Sinks = wire.NotNil(report.Sinks)
	for i := range report.Rules {
		api.OwnRun(ctx, report.Rules[i].Scope, report.Rules[i].LastRun)
	}
	return &statusOutput{Body: report}, nil
}

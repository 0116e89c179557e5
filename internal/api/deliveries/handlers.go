package deliveries

import (
	"context"
	"log/slog"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/ledger"
)

// Ledger is what the ledger knows of deliveries.
type Ledger interface {
	ledger.Operated
	CountDeliveries(ctx context.Context) (map[string]map[ledger.DeliveryState]int64, error)
}

// Deps is what the room is made of.
type Deps struct {
	Deliveries Ledger
	Wake       func(lanes []ledger.Lane) // tells who delivers that deliveries are to be tried again
	Sinks      map[string]view.ServedSink
	Logger     *slog.Logger
}

// Handlers serves deliveries and sinks.
type Handlers struct {
	deps Deps
	log  *slog.Logger
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps, deps.Logger} }

// Register adds the operations.
func (a *Handlers) Register(operations *api.Operations) {
	a.registerDeliveries(operations)
	a.registerSinks(operations)
}

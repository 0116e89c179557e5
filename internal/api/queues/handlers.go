package queues

import (
	"log/slog"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
)

// Deps is what the room is made of.
type Deps struct {
	Queues map[string]view.ServedQueue // by name
	Logger *slog.Logger
}

// Handlers serves queues.
type Handlers struct {
	deps    Deps
	log     *slog.Logger
	waiters *api.Waiters // set by Register
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps: deps, log: deps.Logger} }

// Register adds the operations.
func (a *Handlers) Register(operations *api.Operations) {
	a.waiters = operations.Waiters
	a.registerQueues(operations)
}

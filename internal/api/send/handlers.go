package send

import (
	"context"
	"log/slog"

	"tallyman/internal/api"
	"tallyman/internal/trace"
	"tallyman/rules/catalog"
)

// Deps is what the room is made of.
type Deps struct {
	Sends  Sends
	Types  func(ctx context.Context) (catalog.Catalog, error)
	Meter  Meter
	Tracer *trace.Tracer // nil = no traces
	Logger *slog.Logger
}

// Meter counts the notices that are sent.
type Meter interface {
	NoticeMade(noticeType, status string)
}

// Handlers takes notices.
type Handlers struct {
	deps Deps
	log  *slog.Logger
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps, deps.Logger} }

// Register adds the operation.
func (h *Handlers) Register(operations *api.Operations) { h.registerSend(operations) }

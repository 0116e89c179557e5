package rules

import (
	"context"
	"log/slog"

	"tallyman/engine/trial/preview"
	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/authoring"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// Deps is what the room is made of.
type Deps struct {
	Rules Rules
	// History is the ledger. RuleFiles is what the node knows of its rule files, Reload reads them again for
	// who asks, and records what has changed before it is in force: ledger.ErrNotRecorded.
	History   RuleHistory
	RuleFiles func() view.RuleFiles
	Reload    func(ctx context.Context, who ledger.Author) (wire.Reloaded, error)
	// Preview tries a rule and writes nothing. Errors are *engine.UnknownError, engine.ErrManyScopes, *authoring.AtError, authoring.ErrBusy, those of preview.Run,
	// and the ledger's.
	Preview func(ctx context.Context, q authoring.PreviewRequest) (*preview.Report, error)
	// RuleSource is how a rule is written. Errors are *engine.UnknownError.
	RuleSource func(id string) (*wire.RuleSource, error)
	// Draft tries another text of a rule and writes nothing. Errors are as those of Preview.
	Draft  func(ctx context.Context, q authoring.DraftRequest) (*authoring.DraftResult, error)
	Audit  Audit
	Logger *slog.Logger
}

// Audit takes the records of what is not the ledger's to change; see ledger.Audit.
type Audit interface {
	AddChange(ctx context.Context, c *ledger.Change) error
}

// Handlers serves rules.
type Handlers struct {
	deps Deps
	log  *slog.Logger
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps, deps.Logger} }

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) { h.registerRules(operations) }

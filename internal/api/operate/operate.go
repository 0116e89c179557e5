package operate

import (
	"context"
	"log/slog"

	"tallyman/engine"
	"tallyman/internal/api"
	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
)

// Deps is what the room is made of.
type Deps struct {
	Catalogue Catalogue
	Book      ledger.Book
	Silences  Silences
	Tokens    ledger.TokenEditor // what it adds and revokes counts on this node when it returns
	Audit     ledger.AuditReader
	Rules     Rules
	Logger    *slog.Logger
}

// Catalogue keeps types and subscriptions; see ledger.Catalogue for what each method promises.
type Catalogue interface {
	Types(ctx context.Context) (catalog.Catalog, error)
	PutType(ctx context.Context, who ledger.Author, t catalog.Type) error
	DeleteType(ctx context.Context, who ledger.Author, code string) error
	Subscriptions(ctx context.Context, f ledger.SubscriptionFilter) ([]ledger.Subscription, error)
	AddSubscriptions(ctx context.Context, who ledger.Author, subs []ledger.Subscription) (added int, err error)
	RemoveSubscription(ctx context.Context, who ledger.Author, s ledger.Subscription) error
}

// Rules tells how the rules are: who is not for all warehouses sees the silences that may be about their own.
type Rules interface {
	Status(ctx context.Context) ([]engine.RuleStatus, error)
}

// Handlers serves what operators keep.
type Handlers struct {
	deps Deps
	log  *slog.Logger
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps, deps.Logger} }

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) {
	h.registerTypes(operations)
	h.registerSubscriptions(operations)
	h.registerSubscribers(operations)
	h.registerSilences(operations)
	h.registerTokens(operations)
	h.registerAudit(operations)
	h.registerMe(operations)
}

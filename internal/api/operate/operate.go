package operate

import (
	"log/slog"

	"tallyman/internal/api"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/deliver"
)

// Deps are the dependencies of the room.
type Deps struct {
	Catalogue Catalogue
	Sinks     deliver.Sinks // The sinks that a type may name.
	Book      ledger.Book
	Origins   Origins
	Origin    string // The source of subscriptions in the configuration; "" = none.
	Silences  Silences
	Clock     Clock
	Tokens    ledger.TokenEditor // Changes are in force on this node when a call returns.
	Audit     ledger.AuditReader
	Rules     Rules
	Logger    *slog.Logger
}

// Catalogue keeps types and subscriptions.
type Catalogue interface {
	ledger.TypeKeeper
	ledger.SubscriptionKeeper
}

// Rules describes the rules in force. It decides which silences a caller sees whose token is not for all warehouses.
type Rules interface {
	// InForce returns the rules of the node, with disabled rules. Reach describes all notices that these rules can make;
	// it is another pointer after the rules have changed.
	InForce() []*rules.Rule
	Reach() *rules.Reach
}

// Handlers serves the operations of this package.
type Handlers struct {
	deps       Deps
	matchCache noticeMatches
	log        *slog.Logger
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps: deps, log: deps.Logger} }

func (h *Handlers) types() api.Types { return h.deps.Catalogue.Types }

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) {
	h.registerTypes(operations)
	h.registerSubscriptions(operations)
	h.registerOrigins(operations)
	h.registerSubscribers(operations)
	h.registerSilences(operations)
	h.registerTokens(operations)
	h.registerAudit(operations)
	h.registerClock(operations)
	h.registerMe(operations)
}

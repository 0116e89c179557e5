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
	Log       *Log
	Drain     Drain
	Tokens    ledger.TokenEditor // A change counts on this node when the call returns.
	Audit     Audit
	Rules     Rules
	Logger    *slog.Logger
}

// Catalogue keeps types and subscriptions.
type Catalogue interface {
	ledger.TypeKeeper
	ledger.SubscriptionKeeper
}

// Audit keeps the records of changes.
type Audit interface {
	ledger.AuditReader
	ledger.AuditWriter
}

// Rules returns the rules of the node. A caller with some warehouses sees only the silences that may concern these
// warehouses. The rules decide which silences may concern a warehouse.
type Rules interface {
	// InForce returns the rules of the node, also the disabled rules. Reach describes all notices that these rules can
	// make. After a change of the rules, Reach returns another pointer.
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
	h.registerLog(operations)
	h.registerDrain(operations)
	h.registerMe(operations)
}

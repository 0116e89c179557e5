package operate

import (
	"log/slog"

	"tallyman/internal/api"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/deliver"
)

// Deps is what the room is made of.
type Deps struct {
	Catalogue Catalogue
	Sinks     deliver.Sinks // that types may name
	Book      ledger.Book
	Origins   Origins
	Origin    string // the source that the configuration takes subscriptions from; "" = none
	Silences  Silences
	Clock     Clock
	Log       *Log
	Tokens    ledger.TokenEditor // what it adds and revokes counts on this node when it returns
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

// Rules tells how the rules are: who is not for all warehouses sees the silences that may be about their own.
type Rules interface {
	// InForce returns the rules of the node, also those that are disabled. Reach is what they may tell: another one when other rules come into force.
	InForce() []*rules.Rule
	Reach() *rules.Reach
}

// Handlers serves what operators keep.
type Handlers struct {
	deps Deps
	told toldMatches
	log  *slog.Logger
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
	h.registerMe(operations)
}

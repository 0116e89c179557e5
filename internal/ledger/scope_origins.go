package ledger

import (
	"context"
	"time"

	"tallyman/rules/scopelist"
)

// ScopeKeeper keeps the lists of scopes that queries return for rules. Each change of a list in force raises the
// number "scope_lists" in Numbers.
type ScopeKeeper interface {
	ScopeOrigins
	// TakeScopes puts the sorted list in force as the scopes of the rule, with one record of the differences. An
	// empty list, and a list that would remove more than half of the scopes, is not put in force: it waits for an
	// operator. ErrFenced after a later claim.
	TakeScopes(ctx context.Context, who Author, rule string, token int64, list scopelist.List) (ScopeChange, error)
	// ConfirmScopes puts the waiting list with this hash in force. ErrOtherList where no list or another one waits.
	ConfirmScopes(ctx context.Context, who Author, rule, hash string) (ScopeChange, error)
	// ForgetScopes removes the list of a rule. ErrNotFound.
	ForgetScopes(ctx context.Context, who Author, rule string) error
}

// ScopeOrigins reads the scopes of rules, and the state of their origins.
type ScopeOrigins interface {
	ScopeLists
	// ScopeOrigins returns the state of all origins of scopes, by rule.
	ScopeOrigins(ctx context.Context) ([]ScopeOrigin, error)
}

// ScopeLists reads the scopes of rules.
type ScopeLists interface {
	// ScopeLists returns the lists in force, by rule. A rule without a list is left out.
	ScopeLists(ctx context.Context) (map[string]scopelist.List, error)
}

// ScopeOrigin is the state of the list of scopes of a rule. Its name is the id of the rule.
type ScopeOrigin struct {
	OriginState
	Listed bool // A list is in force.
	Scopes int  // number of scopes in the list
	Waits  *WaitingScopes
}

// WaitingScopes is a list of scopes that waits for an operator.
type WaitingScopes struct {
	Hash   string
	Since  time.Time
	Scopes int                  // number of scopes that the rule would have with this list
	Change scopelist.Difference // compared with the list in force
}

// ScopeChange is what a new list has changed.
type ScopeChange struct {
	scopelist.Difference
	Waits bool // The list waits for an operator; nothing was changed.
}

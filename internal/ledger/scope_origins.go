package ledger

import (
	"context"
	"time"

	"tallyman/rules/scopelist"
)

// ScopeKeeper keeps the scopes that queries return for rules. Each change of a list that is in force counts the number "scope_lists" up; see Numbers.
type ScopeKeeper interface {
	ScopeOrigins
	// TakeScopes makes the list, which is sorted, the scopes of the rule, with one record of what has changed. An empty list, and one that would remove more than half
	// of the scopes, waits. ErrFenced after a later claim.
	TakeScopes(ctx context.Context, who Author, rule string, token int64, list scopelist.List) (ScopeChange, error)
	// ConfirmScopes takes the list that waits and has the hash. ErrOtherList where none waits, or another one does.
	ConfirmScopes(ctx context.Context, who Author, rule, hash string) (ScopeChange, error)
	// ForgetScopes forgets the list of a rule. ErrNotFound.
	ForgetScopes(ctx context.Context, who Author, rule string) error
}

// ScopeOrigins reads the scopes of rules, and how their origins stand.
type ScopeOrigins interface {
	ScopeLists
	// ScopeOrigins returns how the origins stand, by rule.
	ScopeOrigins(ctx context.Context) ([]ScopeOrigin, error)
}

// ScopeLists reads the scopes of rules.
type ScopeLists interface {
	// ScopeLists returns the lists in force, by rule. A rule that never had one is not among them.
	ScopeLists(ctx context.Context) (map[string]scopelist.List, error)
}

// ScopeOrigin is how the scopes of a rule stand. Its name is the id of the rule.
type ScopeOrigin struct {
	OriginState
	Listed bool // a list is in force
	Scopes int  // in the list
	Waits  *WaitingScopes
}

// WaitingScopes is a list of scopes that waits for an operator.
type WaitingScopes struct {
	Hash   string
	Since  time.Time
	Scopes int                  // that the rule would have
	Change scopelist.Difference // as things stand
}

// ScopeChange is what a list has changed.
type ScopeChange struct {
	scopelist.Difference
	Waits bool // nothing was changed: the list waits
}

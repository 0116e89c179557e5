package record

import (
	"tallyman/internal/ledger"
	"tallyman/rules/scopelist"
)

// A record names at most mostScopes added, mostScopes changed and mostScopes removed scopes.
const mostScopes = 200

// ScopeChange is what a list from a source has changed in a rule's scopes; see ledger.ScopeKeeper. ScopeChange names
// only the first scopes, but the counts include all.
type ScopeChange struct {
	Rule    string      `json:"rule"`
	Scopes  int         `json:"scopes"` // number of scopes after the change
	Added   ScopesNamed `json:"added,omitzero"`
	Changed ScopesNamed `json:"changed,omitzero"` // in their new state
	Removed ScopesNamed `json:"removed,omitzero"`
}

// ScopesNamed are some scopes; the first ones come with their data from the list.
type ScopesNamed struct {
	Count int            `json:"count"`
	First scopelist.List `json:"first"`
}

func named(list scopelist.List) ScopesNamed {
	return ScopesNamed{Count: len(list), First: list[:min(mostScopes, len(list))]}
}

// ScopesTaken is the record of a list that was put in force.
func ScopesTaken(rule string, scopes int, c *ledger.ScopeChange, confirmed bool) *ledger.Change {
	action := "scopes.sync"
	if confirmed {
		action = "scopes.confirm"
	}
	return &ledger.Change{Action: action, Object: "rule:" + rule, After: state(ScopeChange{
		Rule: rule, Scopes: scopes, Added: named(c.Added), Changed: named(c.Changed), Removed: named(c.Removed),
	})}
}

// ScopesLeft describes the list of a rule that an operator has removed.
type ScopesLeft struct {
	Rule   string `json:"rule"`
	Scopes int    `json:"scopes"`
}

// ScopesForgotten is the record of a list that an operator has removed.
func ScopesForgotten(rule string, scopes int) *ledger.Change {
	return &ledger.Change{Action: "scopes.forget", Object: "rule:" + rule, Before: state(ScopesLeft{rule, scopes})}
}

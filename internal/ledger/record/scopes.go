package record

import (
	"tallyman/internal/ledger"
	"tallyman/rules/scopelist"
)

// mostScopes is how many of the scopes that a list adds, changes or removes stand in its record, each.
const mostScopes = 200

// ScopeChange is what a list of a source has changed of a rule's scopes; see ledger.ScopeKeeper. Of many scopes the first ones are named; the counts are of all.
type ScopeChange struct {
	Rule    string      `json:"rule"`
	Scopes  int         `json:"scopes"` // that the rule has by then
	Added   ScopesNamed `json:"added,omitzero"`
	Changed ScopesNamed `json:"changed,omitzero"` // as they are by then
	Removed ScopesNamed `json:"removed,omitzero"`
}

// ScopesNamed are some scopes, the first ones with what the list says of them.
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

// ScopesLeft is the list of a rule that an operator has forgotten.
type ScopesLeft struct {
	Rule   string `json:"rule"`
	Scopes int    `json:"scopes"`
}

// ScopesForgotten is the record of that.
func ScopesForgotten(rule string, scopes int) *ledger.Change {
	return &ledger.Change{Action: "scopes.forget", Object: "rule:" + rule, Before: state(ScopesLeft{rule, scopes})}
}

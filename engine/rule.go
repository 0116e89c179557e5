package engine

import (
	"fmt"
	"slices"

	"tallyman/rules"
)

// Rule returns the rule in the scope, which may be nil where it has one. Errors are *UnknownError and ErrManyScopes.
func (e *Engine) Rule(id string, scope *string) (*rules.Rule, error) {
	found, err := e.find(id, scope)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%w: name one of %s", ErrManyScopes, scopesOf(found))
	}
	return found[0], nil
}

// Here is how this node has the rule in each of its scopes, without what the ledger knows.
func (e *Engine) Here(id string) []RuleStatus {
	return slices.DeleteFunc(e.crew.status(e.opts.Clock.Now()), func(s RuleStatus) bool { return s.Rule.ID != id })
}

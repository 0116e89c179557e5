package engine

import (
	"fmt"

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

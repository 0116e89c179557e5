package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/problem"
)

// ErrNotShadow says that a rule that is live already was to be promoted.
var ErrNotShadow = errors.New("the rule is not in shadow")

// UnknownError says that there is no rule or scope of that name.
type UnknownError struct {
	What string // rule or scope
	Name string
	Hint string // did you mean …
}

// Error names it.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("there is no %s %q", e.What, e.Name)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Promote makes a rule in shadow live in the scope, or in all of its scopes where that is nil: from its next run on, on every
// node, it delivers what it newly finds. What it knows already is not told again. It returns every scope that is live by then.
func (e *Engine) Promote(ctx context.Context, who ledger.Author, rule string, scope *string) ([]ledger.Promotion, error) {
	found, err := e.find(rule, scope)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(r *rules.Rule) bool { return !r.Shadow })
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNotShadow, rule)
	}
	list := make([]ledger.Promotion, len(found))
	for i, r := range found {
		now := e.opts.Clock.Now().UTC()
		if _, err := e.opts.Ledger.Register(ctx, r.ID, r.Scope, now); err != nil { // it may never have run
			return nil, err
		}
		if err := e.opts.Ledger.Promote(ctx, who, r.ID, r.Scope, now); err != nil {
			return nil, err
		}
		state, err := e.opts.Ledger.Scope(ctx, r.ID, r.Scope)
		if err != nil {
			return nil, err
		}
		list[i] = ledger.Promotion{Rule: r.ID, Scope: r.Scope, At: state.Promoted, By: state.PromotedBy}
	}
	return list, nil
}

// find returns the rule in the scope, or in all of its scopes. The error is an *UnknownError.
func (e *Engine) find(rule string, scope *string) ([]*rules.Rule, error) {
	var found []*rules.Rule
	var ids, scopes []string
	for _, r := range e.crew.all() {
		ids = append(ids, r.ID)
		if r.ID != rule {
			continue
		}
		scopes = append(scopes, r.Scope)
		if scope == nil || r.Scope == *scope {
			found = append(found, r)
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case len(scopes) > 0:
		return nil, &UnknownError{"scope", *scope, hint(*scope, scopes)}
	}
	return nil, &UnknownError{"rule", rule, problem.DidYouMean(rule, ids)}
}

// hint names the scope that was meant, or those that there are.
func hint(scope string, scopes []string) string {
	if meant := problem.DidYouMean(scope, scopes); meant != "" {
		return meant
	}
	if len(scopes) == 1 && scopes[0] == "" {
		return "the rule has no scopes"
	}
	return "its scopes are " + listed(scopes)
}

// listed names a few.
func listed(names []string) string {
	const most = 10
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

func scopesOf(list []*rules.Rule) string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Scope
	}
	return listed(names)
}

// codeOf is the code that the text of a fault begins with.
func codeOf(text string) string {
	code, _, _ := strings.Cut(text, ":")
	return code
}

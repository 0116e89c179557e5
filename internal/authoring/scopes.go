package authoring

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tallyman/internal/config"
	"tallyman/internal/origin"
	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/rules/scopelist"
	"tallyman/scanners"
)

// The codes of queries for scopes.
const (
	codeScopesFail   = "scopes_fail"    // the query returns no usable list
	codeScopesWait   = "scopes_wait"    // the list is empty
	codeScopesMadeUp = "scopes_made_up" // the query was not asked
)

// expand makes the scopes of rules whose scopes come from queries. It takes the lists in force from the ledger. Where
// the ledger has no list, or there is no ledger, expand asks the source that the argument names. An empty argument
// means the source of the rule's query for scopes. Where a source returns no usable list, the error is a problem.List.
func (c Commands) expand(ctx context.Context, cfg *config.Config, known *site, list []*rules.Rule, source string) ([]*rules.Rule, error) {
	lists := map[string]scopelist.List{}
	if known.ledger != nil && slices.ContainsFunc(list, isMadeUp) {
		var err error
		if lists, err = known.ledger.ScopeLists(ctx); err != nil {
			return nil, fmt.Errorf("read the scopes of rules: %w", err)
		}
	}
	for _, r := range list {
		if _, listed := lists[r.ID]; listed || !isMadeUp(r) {
			continue
		}
		scopes, err := c.askScopes(ctx, cfg, r, source)
		if err != nil {
			return nil, err
		}
		lists[r.ID] = scopes
	}
	expanded, problems := rules.Expand(list, lists)
	return expanded, problems.Err()
}

func isMadeUp(r *rules.Rule) bool { return r.Placeholder == rules.MadeUp }

// askScopes asks a source for the scopes of a rule. An empty source means the source of the rule's query.
func (c Commands) askScopes(ctx context.Context, cfg *config.Config, r *rules.Rule, source string) (_ scopelist.List, err error) {
	if source == "" {
		source = r.Scopes.Source
	}
	opened, err := c.openNamed(ctx, cfg, source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	ctx, done := context.WithTimeout(ctx, previewTimeout)
	defer done()
	list, err := origin.AskScopes(ctx, opened, r)
	if err != nil {
		return nil, problem.List{scopesProblem(r, err)}
	}
	return list, nil
}

// scopesProblem makes a problem from the error of a query that returns no usable list.
func scopesProblem(r *rules.Rule, err error) problem.Problem {
	if refused, ok := errors.AsType[*scanners.Error](err); ok {
		return r.ProblemIn("scopes.sql", max(refused.At-1, 0), string(refused.Code), "scopes: "+probeLine.ReplaceAllString(refused.Err.Error(), ""), refused.Hint)
	}
	return r.Problem("scopes.sql", codeScopesFail, err.Error(), "each row is a scope: name, perhaps timezone, and parameters of the rule")
}

// checkScopes asks for the scopes of each rule whose scopes come from a query, and returns the rule in the first of
// these scopes. more is the number of the other scopes. Without live it asks no source and returns the rules in an
// invented scope; the notes say so.
func (c Commands) checkScopes(ctx context.Context, cfg *config.Config, list []*rules.Rule, live bool) (checked []*rules.Rule, more int, said sourceFindings) {
	for _, r := range list {
		if !isMadeUp(r) {
			checked = append(checked, r)
			continue
		}
		if !live {
			said.notes = append(said.notes, r.Problem("scopes", codeScopesMadeUp, "the query for the scopes was not asked, so the rule is checked in an invented scope", "add --source to ask the source"))
			checked = append(checked, r)
			continue
		}
		scopes, err := c.askScopes(ctx, cfg, r, "")
		problems, refused := errors.AsType[problem.List](err)
		// No problems, because AskScopes has checked the time zones.
		expanded, _ := rules.Expand([]*rules.Rule{r}, map[string]scopelist.List{r.ID: scopes})
		switch {
		case refused:
			said.problems = append(said.problems, problems...)
		case err != nil:
			said.warnings = append(said.warnings, r.Problem("scopes.source", codeScopesFail, err.Error(), ""))
			checked = append(checked, r)
		case len(scopes) == 0:
			said.warnings = append(said.warnings, r.Problem("scopes.sql", codeScopesWait, "the query returns no row; an operator must confirm an empty list", ""))
			checked = append(checked, r)
		default:
			checked = append(checked, expanded[0])
			more += len(expanded) - 1
		}
	}
	return checked, more, said
}

// expandDraft makes the scopes of a draft. It takes the list in force. Where there is no list, or where the draft has
// another query than the running version, it asks the source. The problems say why there is no list.
func (n *Node) expandDraft(ctx context.Context, list, running []*rules.Rule) ([]*rules.Rule, problem.List, error) {
	if !slices.ContainsFunc(list, isMadeUp) {
		return list, nil, nil
	}
	r := list[0] // a rule with a query is one rule before it is expanded
	lists, err := n.Ledger.ScopeLists(ctx)
	if err != nil {
		return nil, nil, err
	}
	_, listed := lists[r.ID]
	if before := running[0]; !listed || before.Scopes == nil || before.Question() != r.Question() {
		release, err := n.Engine.Room(ctx, r.Scopes.Source)
		if err != nil {
			return nil, nil, err
		}
		defer release()
		scopes, err := origin.AskScopes(ctx, n.Sources[r.Scopes.Source], r)
		if err != nil {
			return nil, problem.List{scopesProblem(r, err)}, nil
		}
		lists[r.ID] = scopes
	}
	expanded, problems := rules.Expand(list, lists)
	return expanded, problems, nil
}

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
	codeScopesFail   = "scopes_fail"    // the query gives no list that could be taken
	codeScopesWait   = "scopes_wait"    // the list is empty
	codeScopesMadeUp = "scopes_made_up" // nobody has asked for the list
)

// expand makes the scopes of rules whose scopes come from queries: by the lists in force in the ledger, and where that has none, as without a ledger, by what the sources
// return. Where source is named, that is asked. The error is a problem.List where a source gives no list.
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

// askScopes asks a source for the scopes of a rule: its own, unless source names another.
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

// scopesProblem makes a problem of why a query gives no list of scopes.
func scopesProblem(r *rules.Rule, err error) problem.Problem {
	if refused, ok := errors.AsType[*scanners.Error](err); ok {
		return r.ProblemIn("scopes.sql", max(refused.At-1, 0), string(refused.Code), "scopes: "+probeLine.ReplaceAllString(refused.Err.Error(), ""), refused.Hint)
	}
	return r.Problem("scopes.sql", codeScopesFail, err.Error(), "each row is a scope: name, perhaps timezone, and parameters of the rule")
}

// checkScopes asks for the scopes of the rules, and has each rule checked in the first of its scopes. Without live no source is asked, and the rules are checked
// in a scope that is made up; the notes say so.
func (c Commands) checkScopes(ctx context.Context, cfg *config.Config, list []*rules.Rule, live bool) (checked []*rules.Rule, more int, said sourceFindings) {
	for _, r := range list {
		if !isMadeUp(r) {
			checked = append(checked, r)
			continue
		}
		if !live {
			said.notes = append(said.notes, r.Problem("scopes", codeScopesMadeUp, "how many scopes the query returns is not known; the rule is checked in one that is made up", "--source asks the source"))
			checked = append(checked, r)
			continue
		}
		scopes, err := c.askScopes(ctx, cfg, r, "")
		problems, refused := errors.AsType[problem.List](err)
		expanded, _ := rules.Expand([]*rules.Rule{r}, map[string]scopelist.List{r.ID: scopes}) // the zones were read with the list
		switch {
		case refused:
			said.problems = append(said.problems, problems...)
		case err != nil:
			said.warnings = append(said.warnings, r.Problem("scopes.source", codeScopesFail, err.Error(), ""))
			checked = append(checked, r)
		case len(scopes) == 0:
			said.warnings = append(said.warnings, r.Problem("scopes.sql", codeScopesWait, "the query returns no row, and an empty list waits for an operator", ""))
			checked = append(checked, r)
		default:
			checked = append(checked, expanded[0])
			more += len(expanded) - 1
		}
	}
	return checked, more, said
}

// expandDraft makes the scopes of a draft: by the list in force, or where the draft asks another question than the running version, or none has come, by what the source returns. The
// problems say why there is no list.
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

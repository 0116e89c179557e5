package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"tallyman/engine"
	"tallyman/internal/auth"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// This file limits callers whose token is not for all warehouses. The file also hides parts of things that belong to no
// single warehouse: rules, silences, files and sinks. Texts are data: a comment, a reason or an error can contain
// anything about a warehouse, so a caller sees only texts about the caller's own warehouses.

// OwnWarehouse returns the requested warehouse, or the caller's only warehouse if the request names none.
func OwnWarehouse(who *auth.Identity, name, warehouse string) (string, *wire.Problem) {
	switch {
	case warehouse != "":
		return warehouse, InWarehouse(who, warehouse)
	case len(who.Warehouses) == 1 && !who.Everywhere():
		return who.Warehouses[0], nil
	}
	prob := MissingParameter(name)
	if !who.Everywhere() {
		prob.Detail += Yours(who.Warehouses)
	}
	return "", prob
}

// InWarehouse returns nil if the token allows the warehouse, and the problem otherwise.
func InWarehouse(who *auth.Identity, warehouse string) *wire.Problem {
	if who.InWarehouse(warehouse) {
		return nil
	}
	if warehouse == auth.AllWarehouses {
		return Denied(wire.CodeWarehouseDenied, "this operation concerns all warehouses"+Yours(who.Warehouses))
	}
	return Denied(wire.CodeWarehouseDenied, "your token does not allow warehouse "+policy.Quote(warehouse)+Yours(who.Warehouses))
}

// InScope returns nil if the token allows the scope of a rule. A nil scope means all scopes. A token allows the scopes
// that have the names of its warehouses.
func InScope(ctx context.Context, scope *string) *wire.Problem {
	who := auth.From(ctx)
	switch {
	case who.Everywhere():
		return nil
	case scope == nil:
		return Denied(wire.CodeWarehouseDenied, "this operation concerns all scopes of the rule; name the scope"+Yours(who.Warehouses))
	}
	return InWarehouse(who, *scope)
}

// Denied makes the problem of a request that the token does not allow.
func Denied(code wire.Code, detail string) *wire.Problem {
	p := wire.NewProblem(http.StatusForbidden, code, detail)
	p.Challenge = insufficient
	return p
}

// Yours returns the end of an error text: a list of the token's warehouses or subscribers. The caller knows this list
// already.
func Yours(list []string) string {
	if len(list) == 0 {
		return "; your token has none"
	}
	return "; your token has " + quoteList(list)
}

// quoteList joins the first names of a list.
func quoteList(list []string) string {
	const most = 10
	if len(list) > most {
		return strings.Join(list[:most], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

// Concerns tells whether the caller may see the scope. A rule without scopes concerns every warehouse.
func Concerns(who *auth.Identity, scope string) bool { return scope == "" || who.InWarehouse(scope) }

// OwnRules returns the rules in the scopes that the caller may see.
func OwnRules(ctx context.Context, list []engine.RuleStatus) []engine.RuleStatus {
	who := auth.From(ctx)
	if who.Everywhere() {
		return list
	}
	var own []engine.RuleStatus
	for i := range list {
		if Concerns(who, list[i].Rule.Scope) {
			own = append(own, list[i])
		}
	}
	return own
}

// OwnRun removes data from a run if the token does not allow its scope. Samples have keys and values of rows. Error
// texts can have them, too, after the code. A rule without scopes has data of every warehouse, so only a token for all
// warehouses sees it.
func OwnRun(ctx context.Context, scope string, r *wire.RunStatus) {
	if r == nil || auth.From(ctx).InWarehouse(scope) {
		return
	}
	r.Samples = nil
	r.Error, _, _ = strings.Cut(r.Error, ":")
}

// OwnScopes applies OwnRun to the last run of each scope.
func OwnScopes(ctx context.Context, scopes []wire.ScopeForm) {
	for i := range scopes {
		OwnRun(ctx, scopes[i].Scope, scopes[i].LastRun)
	}
}

// withheld replaces a text that only a token for all warehouses sees.
const withheld = "a token for all warehouses sees why"

// OwnProblems removes problems of rules that the caller does not see. OwnProblems also replaces the texts of problems
// of whole files, because such a text can quote any rule in the file.
func OwnProblems(ctx context.Context, list []wire.FileProblem, sees func(rule string) bool) []wire.FileProblem {
	if auth.From(ctx).Everywhere() {
		return list
	}
	var own []wire.FileProblem
	for _, p := range list {
		switch {
		case p.Rule == "":
			p.Message, p.Hint = withheld, ""
		case !sees(p.Rule):
			continue
		}
		own = append(own, p)
	}
	return own
}

// OwnSinks replaces the error texts of each sink, because such a text can be about a delivery of any warehouse.
func OwnSinks(list []wire.SinkForm) []wire.SinkForm {
	own := slices.Clone(list)
	for i := range own {
		if own[i].Error != "" {
			own[i].Error = withheld
		}
		if own[i].Push != nil && own[i].Push.LastError != "" {
			push := *own[i].Push
			push.LastError = withheld
			own[i].Push = &push
		}
	}
	return own
}

// OwnHealth replaces the errors of sinks among the dependencies of a node, for the same reason as OwnSinks.
func OwnHealth(list []wire.Health) []wire.Health {
	own := slices.Clone(list)
	for i := range own {
		if own[i].Part == "sink" && own[i].Error != "" {
			own[i].Error = withheld
		}
	}
	return own
}

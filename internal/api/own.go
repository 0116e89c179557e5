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

// What a caller may ask who is not for all warehouses, and sees of that which belongs to no single one: rules, silences, files, sinks. Texts are data:
// a comment, a reason or an error may say anything of the warehouse that it is about.

// OwnWarehouse is the warehouse that was asked for, or the only one that the caller has.
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

// InWarehouse is nil where the caller may do things in the warehouse.
func InWarehouse(who *auth.Identity, warehouse string) *wire.Problem {
	if who.InWarehouse(warehouse) {
		return nil
	}
	if warehouse == auth.AllWarehouses {
		return Denied(wire.CodeWarehouseDenied, "this operation concerns all warehouses"+Yours(who.Warehouses))
	}
	return Denied(wire.CodeWarehouseDenied, "warehouse "+policy.Quote(warehouse)+" is not yours"+Yours(who.Warehouses))
}

// InScope is nil where the caller may do things to a rule's scope, nil for all of them. A scope is a warehouse as far as tokens go: one that is
// not for all warehouses is for the scopes of their names.
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

// Denied says that the caller asks for what is not his.
func Denied(code wire.Code, detail string) *wire.Problem {
	p := wire.NewProblem(http.StatusForbidden, code, detail)
	p.Challenge = insufficient
	return p
}

// Yours names what the caller has; he knows it anyway.
func Yours(list []string) string {
	if len(list) == 0 {
		return "; your token has none"
	}
	return "; your token has " + quoteList(list)
}

// quoteList shows some of a list.
func quoteList(list []string) string {
	const most = 10
	if len(list) > most {
		return strings.Join(list[:most], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

// Concerns tells whether the caller may see what is of the scope. A rule without scopes is for every warehouse.
func Concerns(who *auth.Identity, scope string) bool { return scope == "" || who.InWarehouse(scope) }

// OwnRules leaves out scopes that are not the caller's, and with them the rules that have no other.
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

// OwnRun leaves out what a run tells of data where its scope is not the caller's: keys and values stand in samples, and in errors behind their
// code. A rule without scopes has data of every warehouse.
func OwnRun(ctx context.Context, scope string, r *wire.RunStatus) {
	if r == nil || auth.From(ctx).InWarehouse(scope) {
		return
	}
	r.Samples = nil
	r.Error, _, _ = strings.Cut(r.Error, ":")
}

// OwnScopes does so with the last run of each scope.
func OwnScopes(ctx context.Context, scopes []wire.ScopeForm) {
	for i := range scopes {
		OwnRun(ctx, scopes[i].Scope, scopes[i].LastRun)
	}
}

// withheld stands for a text that only those see who see all warehouses.
const withheld = "a token for all warehouses sees why"

// OwnProblems leaves out what is wrong with rules that the caller does not see, and the words about files as a whole, which quote them.
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

// OwnSinks leaves out what channels have answered last, whosever delivery that was about.
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

// OwnHealth does so with the sinks among what a node depends on.
func OwnHealth(list []wire.Health) []wire.Health {
	own := slices.Clone(list)
	for i := range own {
		if own[i].Part == "sink" && own[i].Error != "" {
			own[i].Error = withheld
		}
	}
	return own
}

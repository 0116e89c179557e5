package api

import (
	"context"
	"slices"
	"strings"

	"tallyman/engine"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// What a caller who is not for all warehouses sees of that which belongs to no single one: rules, silences, files, sinks. Texts are data:
// a comment, a reason or an error may say anything of the warehouse that it is about.

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

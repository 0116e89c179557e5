package api

import (
	"context"
	"strings"

	"tallyman/internal/auth"
)

// ownRun leaves out what a run tells of data where its scope is not the caller's: keys and values stand in samples, and in errors behind their
// code.
func ownRun(ctx context.Context, scope string, r *RunStatus) {
	if r == nil || auth.From(ctx).InWarehouse(scope) {
		return
	}
	r.Samples = nil
	r.Error, _, _ = strings.Cut(r.Error, ":")
}

// ownScopes does so with the last run of each scope.
func ownScopes(ctx context.Context, scopes []ScopeForm) {
	for i := range scopes {
		ownRun(ctx, scopes[i].Scope, scopes[i].LastRun)
	}
}

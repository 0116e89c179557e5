package api

import (
	"context"
	"log/slog"
	"slices"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

type statusOutput struct{ Body wire.StatusReport }

// status answers GET /status.
func (a *API) status(ctx context.Context, _ *struct{}) (*statusOutput, error) {
	report, err := a.deps.Status(ctx)
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelError, "the state cannot be reported", slog.Any("error", err))
		return nil, InternalProblem()
	}
	if who := auth.From(ctx); !who.Everywhere() {
		report.Rules = slices.DeleteFunc(report.Rules, func(r wire.RuleStatus) bool { return !Concerns(who, r.Scope) })
		report.Problems = OwnProblems(ctx, report.Problems, func(rule string) bool {
			return slices.ContainsFunc(report.Rules, func(r wire.RuleStatus) bool { return r.ID == rule })
		})
		report.Health = ownHealth(report.Health)
	}
	report.Health = wire.NotNil(report.Health)
	report.Nodes = wire.NotNil(report.Nodes)
	report.Rules = wire.NotNil(report.Rules)
	report.Problems = wire.NotNil(report.Problems)
	report.Deliveries = wire.NotNil(report.Deliveries)
	for i := range report.Rules {
		OwnRun(ctx, report.Rules[i].Scope, report.Rules[i].LastRun)
	}
	return &statusOutput{Body: report}, nil
}

package api

import (
	"context"
	"log/slog"
	"slices"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// NewRecent is the sum as the report shows it; nil where there is none.
func NewRecent(j ledger.Judged) *wire.Recent {
	if j.Runs == 0 {
		return nil
	}
	r := &wire.Recent{
		Runs: j.Runs, Rows: j.Rows, Errored: j.Errored, ErrorRate: min(float64(j.Errored)/float64(max(j.Rows, 1)), 1), DurationsMS: make([]int64, len(j.Last)),
	}
	for i, run := range j.Last {
		r.DurationsMS[i] = run.Took.Milliseconds()
		r.Outcomes += string(run.Outcome[:min(1, len(run.Outcome))])
	}
	return r
}

// NewRunStatus is a run as the report shows it.
func NewRunStatus(r *ledger.Run) *wire.RunStatus {
	return &wire.RunStatus{
		Due: r.Due, Started: r.Started, DurationMS: r.Duration.Milliseconds(), Node: r.Node, Outcome: string(r.Outcome), Rows: r.Rows,
		Matched: r.Matched, Errored: r.Errored, Notices: r.Notices, Unsubscribed: r.Unsubscribed, Error: r.Error, Samples: r.Samples,
	}
}

type statusOutput struct{ Body wire.StatusReport }

// status answers GET /status.
func (a *API) status(ctx context.Context, _ *struct{}) (*statusOutput, error) {
	report, err := a.deps.Status(ctx)
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelError, "the state cannot be reported", slog.Any("error", err))
		return nil, internalProblem()
	}
	if who := auth.From(ctx); !who.Everywhere() {
		report.Rules = slices.DeleteFunc(report.Rules, func(r wire.RuleStatus) bool { return !concerns(who, r.Scope) })
		report.Problems = ownProblems(ctx, report.Problems, func(rule string) bool {
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
		ownRun(ctx, report.Rules[i].Scope, report.Rules[i].LastRun)
	}
	return &statusOutput{Body: report}, nil
}

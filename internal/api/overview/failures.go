package overview

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

type (
	failuresInput struct {
		Since string `query:"since" doc:"only runs that were due at this time or later: RFC 3339, or a duration before now such as 1h" example:"1h"`
	}
	failuresOutput struct{ Body *wire.FailuresForm }
)

// mostFailures is the maximum number of failed runs in an answer. mostFailed is the maximum number that the ledger
// returns, before the runs of other warehouses are left out.
const (
	mostFailures = 200
	mostFailed   = 2_000
)

func (h *Handlers) registerFailures(operations huma.API) {
	list := api.Operation("list-failures", http.MethodGet, "/overview/failures", "operations", "List the latest failed runs of all rules, the latest first")
	list.Description = "The answer has the 200 latest failed runs, of the last hour by default. GET /rules/{rule}/runs has the failed runs of one rule for as long as the " +
		"ledger keeps them."
	huma.Register(operations, list, h.failures)
}

// failures answers GET /overview/failures.
func (h *Handlers) failures(ctx context.Context, in *failuresInput) (*failuresOutput, error) {
	now := h.deps.Rules.Now()
	since, prob := api.PastTime("since", cmp.Or(in.Since, "1h"), now)
	if prob != nil {
		return nil, prob
	}
	runs, err := h.deps.Ledger.FailedRuns(ctx, since, mostFailed)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	who := auth.From(ctx)
	form := &wire.FailuresForm{Runs: []wire.FailureForm{}}
	for i := range runs {
		if !api.Concerns(who, runs[i].Scope) {
			continue
		}
		run := view.NewRunStatus(&runs[i])
		api.OwnRun(ctx, runs[i].Scope, run)
		form.Runs = append(form.Runs, wire.FailureForm{Rule: runs[i].Rule, Scope: runs[i].Scope, Due: runs[i].Due.UTC(), Error: run.Error})
	}
	form.Runs = slices.Clip(form.Runs[:min(len(form.Runs), mostFailures)])
	return &failuresOutput{form}, nil
}

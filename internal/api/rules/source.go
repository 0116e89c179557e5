package rules

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine"
	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

type sourceOutput struct{ Body *wire.RuleSource }

func (h *Handlers) registerRuleSource(operations huma.API) {
	op := api.Operation("get-rule-source", http.MethodGet, "/rules/{id}/source", "rules", "Show how a rule is written")
	op.Description = "The text is that of the running version, of the answering node's files. A token that is not for all warehouses sees a rule of whose scopes all are its own."
	huma.Register(operations, op, h.ruleSource)
}

// ruleSource answers GET /rules/{id}/source.
func (h *Handlers) ruleSource(ctx context.Context, in *ruleInput) (*sourceOutput, error) {
	source, err := h.deps.RuleSource(in.ID)
	if err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	who := auth.From(ctx)
	if !slices.ContainsFunc(source.Scopes, func(scope string) bool { return api.Concerns(who, scope) }) {
		return nil, h.rulesFailed(ctx, &engine.UnknownError{What: "rule", Name: in.ID})
	}
	for _, scope := range source.Scopes { // the text has all of them, with their parameters
		if prob := api.InWarehouse(who, scope); prob != nil {
			return nil, prob
		}
	}
	if !who.Everywhere() { // the text on the disk may have other scopes
		source.Disk = nil
	}
	return &sourceOutput{source}, nil
}

package rulebook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine"
	"tallyman/engine/trial/rewind"
	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/authoring"
	"tallyman/internal/wire"
	"tallyman/rules"
	"tallyman/rules/row"
)

type (
	rewindInput struct {
		ID    string `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Scope string `query:"scope" doc:"one scope; by default every scope of the rule"`
		Body  wire.RewindAskForm
	}
	rewindOutput struct{ Body *wire.RewoundForm }
)

func (h *Handlers) registerRewind(operations huma.API) {
	op := api.Operation("rewind-rule", http.MethodPost, "/rules/{id}/rewind", "rules", "Move the watermark of a rule back or forward")
	op.Description = "The next firing on any node begins at the new position. A rewind back judges rows again, and a rewind forward skips rows. Events whose notices the " +
		"ledger still has make no second notice. A dry run counts what would follow and moves nothing. It reads the source, and the audit records the caller. " +
		"While a firing runs, nothing is moved (409)."
	huma.Register(operations, op, h.rewind)
}

// rewindState is the audit record of a dry run.
type rewindState struct {
	Rewind []string `json:"rewind"`
}

// rewind answers POST /rules/{id}/rewind.
func (h *Handlers) rewind(ctx context.Context, in *rewindInput) (*rewindOutput, error) {
	scope := api.Optional(in.Scope)
	if prob := api.InScope(ctx, scope); prob != nil {
		return nil, prob
	}
	if err := h.deps.Rules.Find(in.ID, scope); err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	if in.Body.DryRun {
		if prob := h.order(ctx, "rule.preview", ruleObject(in.ID, scope), rewindState{in.Body.To}); prob != nil {
			return nil, prob
		}
	} else if strings.TrimSpace(in.Body.Reason) == "" {
		return nil, wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "reason: say why the watermark is moved; the audit keeps it")
	}
	who := auth.From(ctx)
	list, err := h.deps.Rewind(ctx, authoring.RewindRequest{
		Rule: in.ID, Scope: scope, To: in.Body.To, DryRun: in.Body.DryRun, Who: who.Author(), Reason: in.Body.Reason,
	})
	if err != nil {
		return nil, h.rewindFailed(ctx, err)
	}
	form := &wire.RewoundForm{Rule: in.ID, DryRun: in.Body.DryRun, Scopes: make([]wire.RewoundScopeForm, len(list))}
	for i := range list {
		form.Scopes[i] = h.newRewoundScope(ctx, &list[i], in.Body.DryRun)
	}
	if !in.Body.DryRun {
		h.log.LogAttrs(ctx, slog.LevelInfo, "Watermark of a rule was moved.", slog.String("rule", in.ID), slog.String("scope", in.Scope),
			slog.Any("to", in.Body.To), slog.String("reason", in.Body.Reason), slog.String("by", who.Subject))
	}
	return &rewindOutput{form}, nil
}

// newRewoundScope converts the result of a rewind in one scope.
func (h *Handlers) newRewoundScope(ctx context.Context, s *authoring.RewoundScope, dryRun bool) wire.RewoundScopeForm {
	form := wire.RewoundScopeForm{Scope: s.Scope, Watermark: make([]wire.MarkForm, len(s.Columns)), Moved: !dryRun && s.Fault == nil}
	for i, name := range s.Columns {
		form.Watermark[i] = wire.MarkForm{Name: name, Before: textAt(s.Before, i), After: textAt(s.After, i)}
	}
	if s.Fault != nil {
		form.Error = h.rewindFailed(ctx, s.Fault).Error()
	}
	if dryRun {
		counts := wire.RewindCountsForm(s.Counts)
		form.Follows = &counts
	}
	return form
}

// textAt returns a value of a watermark as text, or nil if the watermark has no such value.
func textAt(values []row.Value, i int) *string {
	if i >= len(values) {
		return nil
	}
	text := values[i].String()
	return &text
}

// rewindFailed converts an error of a rewind to a problem.
func (h *Handlers) rewindFailed(ctx context.Context, err error) *wire.Problem {
	var position *rules.PositionError
	switch {
	case errors.As(err, &position):
		return wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "to: "+err.Error())
	case errors.Is(err, rewind.ErrNoWatermark):
		return wire.NewProblem(http.StatusConflict, wire.CodeRuleNoWatermark, err.Error()+"; only rules with probe.watermark have a watermark")
	case errors.Is(err, engine.ErrRunning):
		return wire.NewProblem(http.StatusConflict, wire.CodeRuleBusy, err.Error()+"; try again when it has ended, or disable the rule first")
	}
	return h.previewFailed(ctx, err)
}

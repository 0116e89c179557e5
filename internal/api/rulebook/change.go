package rulebook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine"
	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

type (
	switchInput struct {
		ID    string `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Scope string `query:"scope" doc:"one scope; its switch wins over the switch of the whole rule. By default the whole rule"`
		Body  *wire.SwitchAskForm
	}
	pauseRulesInput struct{ Body *wire.SwitchAskForm }
	clearInput      struct {
		ID    string `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Scope string `query:"scope" doc:"one scope; by default the whole rule"`
	}
	switchedOutput struct{ Body *wire.SwitchedForm }
	pausedOutput   struct{ Body *wire.PausedForm }
	runInput       struct {
		ID    string `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Scope string `query:"scope" doc:"needed where the rule has several scopes"`
	}
	runOutput struct {
		Status   int
		Location string `header:"Location"`
		Body     *wire.OrderedForm
	}
	reloadOutput struct{ Body wire.Reloaded }
)

func (h *Handlers) registerRulesChange(operations huma.API) {
	enable := api.Operation("enable-rule", http.MethodPost, "/rules/{id}/enable", "rules", "Enable a rule, whatever its file says")
	enable.Description = "The switch holds on every node within a second. It survives reloads and restarts, until somebody clears it or it ends. Firings that were due while the " +
		"rule was disabled are skipped."
	huma.Register(operations, enable, func(ctx context.Context, in *switchInput) (*switchedOutput, error) {
		return h.turn(ctx, in.ID, in.Scope, in.Body, ledger.SwitchOn)
	})
	disable := api.Operation("disable-rule", http.MethodPost, "/rules/{id}/disable", "rules", "Disable a rule, whatever its file says")
	disable.Description = "The switch holds on every node within a second. A run that has begun goes on to its end. Findings are frozen: they make no notices, do not resolve, " +
		"and no time passes for them."
	huma.Register(operations, disable, func(ctx context.Context, in *switchInput) (*switchedOutput, error) {
		return h.turn(ctx, in.ID, in.Scope, in.Body, ledger.SwitchOff)
	})
	huma.Register(operations, api.Operation("clear-rule", http.MethodPost, "/rules/{id}/clear", "rules", "Clear the switch of a rule, so that its file decides again"),
		func(ctx context.Context, in *clearInput) (*switchedOutput, error) {
			return h.turn(ctx, in.ID, in.Scope, nil, ledger.SwitchCleared)
		})
	pause := api.Operation("pause-rules", http.MethodPost, "/rules/pause", "rules", "Stop every rule, whatever its switch says")
	huma.Register(operations, pause, func(ctx context.Context, in *pauseRulesInput) (*pausedOutput, error) {
		return h.pauseRules(ctx, in.Body, ledger.SwitchOff)
	})
	huma.Register(operations, api.Operation("resume-rules", http.MethodPost, "/rules/resume", "rules", "End the pause of all rules"),
		func(ctx context.Context, _ *struct{}) (*pausedOutput, error) {
			return h.pauseRules(ctx, nil, ledger.SwitchCleared)
		})
	run := api.Operation("run-rule", http.MethodPost, "/rules/{id}/run", "rules", "Run a rule now")
	run.Description = "The firing runs once in the cluster, also for a disabled rule. If the run takes longer than a few seconds, the answer is 202 and the run goes on."
	run.Responses["202"] = &huma.Response{
		Description: "the run has not ended yet", Content: map[string]*huma.MediaType{string(api.MediaJSON): {Schema: api.SchemaOf[wire.OrderedForm](operations.OpenAPI())}},
	}
	huma.Register(operations, run, h.runRule)
	huma.Register(operations, api.Operation("reload-rules", http.MethodPost, "/rules/reload", "rules", "Read the rule files of the answering node again"), h.reloadRules)
}

// turn answers POST /rules/{id}/enable, /disable and /clear.
func (h *Handlers) turn(ctx context.Context, id, scope string, ask *wire.SwitchAskForm, state ledger.SwitchState) (*switchedOutput, error) {
	if prob := api.InScope(ctx, api.Optional(scope)); prob != nil {
		return nil, prob
	}
	s, prob := h.newSwitch(ctx, ask, state)
	if prob != nil {
		return nil, prob
	}
	list, err := h.deps.Rules.Turn(ctx, auth.From(ctx).Author(), id, api.Optional(scope), s)
	if err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	list = api.OwnRules(ctx, list)
	form := &wire.SwitchedForm{Rule: id, Scopes: make([]wire.ScopeForm, len(list))}
	for i := range list {
		form.Scopes[i] = newScopeForm(&list[i])
	}
	api.OwnScopes(ctx, form.Scopes)
	h.log.LogAttrs(ctx, slog.LevelInfo, "Rule was switched.", slog.String("rule", id), slog.String("scope", scope), slog.String("state", stateText(state)),
		slog.Time("until", s.Until), slog.String("reason", s.Reason), slog.String("by", s.By))
	return &switchedOutput{form}, nil
}

func stateText(s ledger.SwitchState) string {
	return map[ledger.SwitchState]string{ledger.SwitchCleared: "cleared", ledger.SwitchOn: "enabled", ledger.SwitchOff: "disabled"}[s]
}

// newSwitch returns the switch that a request asks for.
func (h *Handlers) newSwitch(ctx context.Context, ask *wire.SwitchAskForm, state ledger.SwitchState) (ledger.Switch, *wire.Problem) {
	s := ledger.Switch{State: state, By: auth.From(ctx).Subject}
	if ask == nil {
		return s, nil
	}
	s.Reason = ask.Reason
	switch {
	case utf8.RuneCountInString(ask.Reason) > api.MaxReason:
		return s, wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "reason: at most "+strconv.Itoa(api.MaxReason)+" characters are allowed")
	case ask.Until != nil && ask.For != "":
		return s, wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "for: leave out for, or leave out until: each of them gives the end")
	case ask.Until != nil:
		s.Until = ask.Until.UTC().Truncate(time.Microsecond)
	case ask.For != "":
		d, err := api.ParseSpan(ask.For)
		if err != nil {
			return s, wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "for: "+err.Error())
		}
		s.Until = h.deps.Rules.Now().UTC().Add(d).Truncate(time.Microsecond)
	}
	return s, nil
}

// pauseRules answers POST /rules/pause and /resume.
func (h *Handlers) pauseRules(ctx context.Context, ask *wire.SwitchAskForm, state ledger.SwitchState) (*pausedOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	s, prob := h.newSwitch(ctx, ask, state)
	if prob != nil {
		return nil, prob
	}
	if err := h.deps.Rules.Pause(ctx, auth.From(ctx).Author(), s); err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	form := &wire.RulesForm{}
	addSwitches(form, auth.From(ctx), h.deps.Rules.Switches(), nil)
	h.log.LogAttrs(ctx, slog.LevelInfo, "All rules were paused or resumed.", slog.Bool("paused", state == ledger.SwitchOff), slog.Time("until", s.Until),
		slog.String("reason", s.Reason), slog.String("by", s.By))
	return &pausedOutput{&wire.PausedForm{Paused: form.Paused}}, nil
}

// runRule answers POST /rules/{id}/run.
func (h *Handlers) runRule(ctx context.Context, in *runInput) (*runOutput, error) {
	if prob := api.InScope(ctx, api.Optional(in.Scope)); prob != nil {
		return nil, prob
	}
	by := auth.From(ctx).Subject
	o, err := h.deps.Rules.RunNow(ctx, in.ID, api.Optional(in.Scope), func(o *engine.RequestedFiring) error {
		if prob := h.order(ctx, "rule.run", ruleObject(o.Rule, &o.Scope), wire.OrderedForm{Rule: o.Rule, Scope: o.Scope, Due: o.Due}); prob != nil {
			return prob
		}
		return nil
	})
	if err != nil {
		return nil, h.runFailed(ctx, err)
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "Rule was run by an operator.", slog.String("rule", o.Rule), slog.String("scope", o.Scope), slog.Time("due", o.Due), slog.String("by", by))
	out := &runOutput{Status: http.StatusOK, Body: &wire.OrderedForm{Rule: o.Rule, Scope: o.Scope, Due: o.Due}}
	if o.Run == nil {
		out.Status, out.Location = http.StatusAccepted, api.Base+"/rules/"+o.Rule+"/runs"
	} else {
		run := view.NewRuleRunForm(o.Run)
		out.Body.Run = &run
	}
	return out, nil
}

// runFailed converts an error of RunNow to a problem.
func (h *Handlers) runFailed(ctx context.Context, err error) *wire.Problem {
	var unrecorded *wire.Problem
	switch {
	case errors.As(err, &unrecorded):
		return unrecorded
	case errors.Is(err, engine.ErrRunning):
		return wire.NewProblem(http.StatusConflict, wire.CodeRuleBusy, err.Error())
	case errors.Is(err, engine.ErrStopping):
		p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeNotReady, err.Error()+"; ask another node, or try again")
		p.RetryAfter = 2
		return p
	}
	return h.rulesFailed(ctx, err)
}

// reloadRules answers POST /rules/reload.
func (h *Handlers) reloadRules(ctx context.Context, _ *struct{}) (*reloadOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	r, err := h.deps.Reload(ctx, auth.From(ctx).Author())
	if err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	return &reloadOutput{r}, nil
}

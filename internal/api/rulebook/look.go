package rulebook

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine"
	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// RuleHistory reads the runs and findings of rules from the ledger.
type RuleHistory interface {
	ledger.RunReader
	ledger.FindingReader
}

type (
	rulesInput struct {
		Limit api.Limit[api.OfRules] `query:"limit" doc:"maximum number of rules in a page"`
		After string                 `query:"after" doc:"cursor of the previous page: the id of its last rule"`
		IDs   []string               `query:"id,explode" maxItems:"200" doc:"only these rules; ids that no rule has are ignored" example:"[\"negative-bin-stock\"]" nullable:"false"`
	}
	ruleInput struct {
		ID string `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
	}
	runsInput struct {
		ID    string                `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Scope string                `query:"scope" doc:"only runs in this scope"`
		Since string                `query:"since" doc:"only runs that were due at this time or later: RFC 3339, or a duration before now such as 1h" example:"1h"`
		Until string                `query:"until" doc:"only runs that were due before this time: RFC 3339, or a duration before now such as 30m" example:"30m"`
		Limit api.Limit[api.OfRuns] `query:"limit" doc:"maximum number of runs; the latest are listed"`
	}
	findingsInput struct {
		ID    string                    `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Scope string                    `query:"scope" doc:"only findings in this scope"`
		State string                    `query:"state" enum:"pending,firing" doc:"only findings in this state"`
		Limit api.Limit[api.OfFindings] `query:"limit" doc:"maximum number of findings"`
	}
	rulesOutput struct{ Body *wire.RulesForm }
	ruleOutput  struct{ Body *wire.RuleForm }
	runsOutput  struct{ Body *wire.RunsForm }

	findingsOutput struct{ Body *wire.FindingsForm }
)

func (h *Handlers) registerRulesLook(operations huma.API) {
	huma.Register(operations, api.Operation("list-rules", http.MethodGet, "/rules", "rules", "List the rules and their state"), h.listRules)
	huma.Register(operations, api.Operation("get-rule", http.MethodGet, "/rules/{id}", "rules", "Show a rule and its state in each scope"), h.getRule)
	huma.Register(operations, api.Operation("list-runs", http.MethodGet, "/rules/{id}/runs", "rules", "List the latest runs of a rule"), h.listRuns)
	huma.Register(operations, api.Operation("list-findings", http.MethodGet, "/rules/{id}/findings", "rules", "List the open findings of a rule"), h.listFindings)
}

// mostRuleIDs is the maximum number of ids in one request.
const mostRuleIDs = 200

// listRules answers GET /rules.
func (h *Handlers) listRules(ctx context.Context, in *rulesInput) (*rulesOutput, error) {
	limit, prob := in.Limit.Parse()
	if prob != nil {
		return nil, prob
	}
	if len(in.IDs) > mostRuleIDs {
		return nil, api.BadParameter("id is given " + strconv.Itoa(len(in.IDs)) + " times; at most " + strconv.Itoa(mostRuleIDs) + " are allowed")
	}
	if len(in.IDs) > 0 && in.Limit == "" {
		limit = mostRuleIDs
	}
	list, err := h.deps.Rules.Status(ctx)
	if err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	files := h.deps.RuleFiles()
	form := &wire.RulesForm{Version: files.Version}
	addSwitches(form, auth.From(ctx), h.deps.Rules.Switches(), list)
	list = api.OwnRules(ctx, list)
	form.Problems = wire.NotNil(api.OwnProblems(ctx, files.Problems, func(rule string) bool {
		return slices.ContainsFunc(list, func(s engine.RuleStatus) bool { return s.Rule.ID == rule })
	}))
	asked := make(map[string]bool, len(in.IDs))
	for _, id := range in.IDs {
		asked[id] = true
	}
	list = slices.DeleteFunc(list, func(s engine.RuleStatus) bool {
		return s.Rule.ID <= in.After || len(asked) > 0 && !asked[s.Rule.ID]
	})
	form.Rules = newRuleForms(list, files.Stale)
	if len(form.Rules) > limit {
		form.Rules = form.Rules[:limit]
		form.Cursor = form.Rules[limit-1].ID
	}
	for i := range form.Rules {
		api.OwnScopes(ctx, form.Rules[i].Scopes)
	}
	return &rulesOutput{form}, nil
}

// addSwitches adds the switch that stops all rules, and the switches of rules and scopes that no file has. Among
// switches that no file has, the caller sees only switches of allowed scopes, because nobody knows which warehouses a
// removed rule had.
func addSwitches(f *wire.RulesForm, who *auth.Identity, list []ledger.Switch, rules []engine.RuleStatus) {
	known := map[string]bool{}
	for i := range rules {
		known[ledger.ScopeKey(rules[i].Rule.ID, rules[i].Rule.Scope)], known[ledger.ScopeKey(rules[i].Rule.ID, ledger.Every)] = true, true
	}
	for i := range list {
		switch s := &list[i]; {
		case s.Rule == ledger.Every:
			f.Paused = view.NewSwitchForm(s)
		case !known[ledger.ScopeKey(s.Rule, s.Scope)] && who.InWarehouse(s.Scope):
			f.Strays = append(f.Strays, *view.NewSwitchForm(s))
		}
	}
}

// getRule answers GET /rules/{id}.
func (h *Handlers) getRule(ctx context.Context, in *ruleInput) (*ruleOutput, error) {
	scopes, prob := h.scopesOf(ctx, in.ID, nil)
	if prob != nil {
		return nil, prob
	}
	form := &newRuleForms(scopes, h.deps.RuleFiles().Stale)[0]
	api.OwnScopes(ctx, form.Scopes)
	return &ruleOutput{form}, nil
}

// scopesOf returns the state of a rule in all scopes of the caller, or in one scope. A rule without a scope of the
// caller looks like a rule that does not exist.
func (h *Handlers) scopesOf(ctx context.Context, id string, scope *string) ([]engine.RuleStatus, *wire.Problem) {
	if err := h.deps.Rules.Find(id, scope); err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	list, err := h.deps.Rules.Scopes(ctx, id)
	if err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	list = api.OwnRules(ctx, list)
	if scope != nil {
		list = slices.DeleteFunc(list, func(s engine.RuleStatus) bool { return s.Rule.Scope != *scope })
	}
	if len(list) == 0 { // The rule was removed in the meantime.
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeRuleNotFound, "there is no rule "+policy.Quote(id))
	}
	return list, nil
}

// listRuns answers GET /rules/{id}/runs.
func (h *Handlers) listRuns(ctx context.Context, in *runsInput) (*runsOutput, error) {
	limit, prob := in.Limit.Parse()
	if prob != nil {
		return nil, prob
	}
	now := h.deps.Rules.Now()
	since, prob := api.PastTime("since", in.Since, now)
	if prob != nil {
		return nil, prob
	}
	until, prob := api.PastTime("until", in.Until, now)
	if prob != nil {
		return nil, prob
	}
	runs, prob := h.runsOf(ctx, in.ID, api.Optional(in.Scope), since, until, limit)
	if prob != nil {
		return nil, prob
	}
	form := &wire.RunsForm{Runs: make([]wire.RuleRunForm, len(runs))}
	for i := range runs {
		form.Runs[i] = view.NewRuleRunForm(&runs[i])
		api.OwnRun(ctx, runs[i].Scope, &form.Runs[i].RunStatus)
	}
	return &runsOutput{form}, nil
}

// runsOf returns the latest runs of a rule that were due between since and until, in the caller's scopes or in one
// scope.
func (h *Handlers) runsOf(ctx context.Context, id string, scope *string, since, until time.Time, limit int) ([]ledger.Run, *wire.Problem) {
	if auth.From(ctx).Everywhere() {
		if err := h.deps.Rules.Find(id, scope); err != nil {
			return nil, h.rulesFailed(ctx, err)
		}
		runs, err := h.deps.History.RunsDue(ctx, id, scope, since, until, limit)
		if err != nil {
			return nil, h.rulesFailed(ctx, err)
		}
		return runs, nil
	}
	if scope != nil {
		if prob := api.InScope(ctx, scope); prob != nil {
			return nil, prob
		}
	}
	scopes, prob := h.scopesOf(ctx, id, scope)
	if prob != nil {
		return nil, prob
	}
	var all []ledger.Run
	for i := range scopes {
		runs, err := h.deps.History.RunsDue(ctx, id, &scopes[i].Rule.Scope, since, until, limit)
		if err != nil {
			return nil, h.rulesFailed(ctx, err)
		}
		all = append(all, runs...)
	}
	slices.SortStableFunc(all, func(a, b ledger.Run) int { return b.Due.Compare(a.Due) })
	return all[:min(limit, len(all))], nil
}

// listFindings answers GET /rules/{id}/findings.
func (h *Handlers) listFindings(ctx context.Context, in *findingsInput) (*findingsOutput, error) {
	limit, prob := in.Limit.Parse()
	if prob != nil {
		return nil, prob
	}
	if in.State != "" && in.State != "pending" && in.State != "firing" {
		return nil, api.BadParameter("state " + policy.Quote(in.State) + " is neither pending nor firing")
	}
	if prob := api.InScope(ctx, api.Optional(in.Scope)); prob != nil { // Keys are data of a warehouse.
		return nil, prob
	}
	scopes, prob := h.scopesOf(ctx, in.ID, api.Optional(in.Scope))
	if prob != nil {
		return nil, prob
	}
	form := &wire.FindingsForm{Findings: []wire.OpenFindingForm{}}
	for i := range scopes {
		open, err := h.deps.History.Findings(ctx, in.ID, scopes[i].Rule.Scope)
		if err != nil {
			return nil, h.rulesFailed(ctx, err)
		}
		addFindings(form, open, scopes[i].Rule.Scope, in.State)
	}
	form.Total = len(form.Findings)
	form.Findings = form.Findings[:min(limit, form.Total)]
	return &findingsOutput{form}, nil
}

// addFindings adds the findings in the state, or all findings if the state is "".
func addFindings(f *wire.FindingsForm, open []finding.State, scope, state string) {
	slices.SortFunc(open, func(a, b finding.State) int { return cmp.Compare(a.Key, b.Key) })
	for i := range open {
		if one := newOpenFindingForm(&open[i], scope); state == "" || one.State == state {
			f.Findings = append(f.Findings, one)
		}
	}
}

func newOpenFindingForm(s *finding.State, scope string) wire.OpenFindingForm {
	f := wire.OpenFindingForm{
		Scope: scope, Key: s.Key, State: "pending", Group: s.Group, Priority: s.Priority, Since: s.Episode.UTC(), AbsentSince: wire.Moment(s.AbsentSince),
		LastNotified: wire.Moment(s.LastNotified), Notices: s.Ordinal, NoticeID: strings.TrimSpace(s.NoticeID), Withheld: withheld(s),
	}
	if s.Phase == finding.Firing {
		f.State, f.Since = "firing", s.FiringSince.UTC()
	}
	return f
}

// withheld returns why a finding makes no notice, or "" if nothing withholds it.
func withheld(s *finding.State) string {
	switch {
	case s.Baseline:
		return "baseline"
	case s.Silenced != "":
		return "silenced"
	}
	return ""
}

// newRuleForms groups the statuses by rule. The statuses are sorted by rule and scope.
func newRuleForms(list []engine.RuleStatus, stale map[string]bool) []wire.RuleForm {
	forms := []wire.RuleForm{}
	for i := range list {
		r := list[i].Rule
		if len(forms) == 0 || forms[len(forms)-1].ID != r.ID {
			forms = append(forms, wire.RuleForm{
				ID: r.ID, Title: r.Title, Description: r.Description, Owner: r.Owner, RunbookURL: r.RunbookURL, Labels: r.OwnLabels, File: r.File,
				Stale: stale[r.ID], Source: r.Source, Mode: string(r.Mode), Type: r.Notice.Type,
			})
		}
		last := &forms[len(forms)-1]
		last.Scopes = append(last.Scopes, newScopeForm(&list[i]))
	}
	return forms
}

func newScopeForm(s *engine.RuleStatus) wire.ScopeForm {
	f := wire.ScopeForm{
		Scope: s.Rule.Scope, Cron: s.Rule.Schedule.Cron, Timezone: s.Rule.Schedule.Timezone,
		Enabled: s.Enabled, FileEnabled: s.Rule.Enabled, Switch: view.NewSwitchForm(s.Switch), Health: view.HealthOf(s),
		Verified: s.Verified, Reason: s.Reason, NextDue: wire.Moment(s.NextDue), Warnings: s.Warnings, Shadow: s.Rule.Shadow, Promoted: wire.Moment(s.Promoted),
		Recent: view.NewRecent(s.RunSum), Late: s.Late, Overdue: view.Seconds(s.Overdue), Since: wire.Moment(s.Since),
	}
	if s.LastRun != nil {
		f.LastRun = view.NewRunStatus(s.LastRun)
		f.Pending, f.Firing = s.LastRun.Pending, s.LastRun.Firing
	}
	return f
}

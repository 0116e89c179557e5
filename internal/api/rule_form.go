package api

import (
	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// NewSwitchForm is the switch as clients see it; nil of none.
func NewSwitchForm(s *ledger.Switch) *wire.SwitchForm {
	if s == nil {
		return nil
	}
	f := &wire.SwitchForm{Rule: s.Rule, Scope: s.Scope, State: "disabled", Reason: s.Reason, By: s.By, At: s.At.UTC(), Until: wire.Moment(s.Until)}
	if s.State == ledger.SwitchOn {
		f.State = "enabled"
	}
	return f
}

// newRuleForms groups the statuses, which are in the order of rules and scopes.
func newRuleForms(list []engine.RuleStatus, stale map[string]bool) []wire.RuleForm {
	forms := []wire.RuleForm{}
	for i := range list {
		r := list[i].Rule
		if len(forms) == 0 || forms[len(forms)-1].ID != r.ID {
			forms = append(forms, wire.RuleForm{
				ID: r.ID, Title: r.Title, Description: r.Description, Owner: r.Owner, RunbookURL: r.RunbookURL, Labels: r.Labels, File: r.File,
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
		Enabled: s.Enabled, FileEnabled: s.Rule.Enabled, Switch: NewSwitchForm(s.Switch), Health: healthOf(s),
		Verified: s.Verified, Reason: s.Reason, NextDue: wire.Moment(s.NextDue), Warnings: s.Warnings, Shadow: s.Rule.Shadow, Promoted: wire.Moment(s.Promoted),
		Recent: NewRecent(s.Judged),
	}
	if s.LastRun != nil {
		f.LastRun = NewRunStatus(s.LastRun)
		f.Pending, f.Firing = s.LastRun.Pending, s.LastRun.Firing
	}
	return f
}

func healthOf(s *engine.RuleStatus) string {
	switch {
	case !s.Enabled:
		return "disabled"
	case !s.Verified:
		return "unverified"
	case s.LastRun == nil:
		return "waiting"
	}
	switch s.LastRun.Outcome {
	case ledger.OutcomeFailed:
		return "failing"
	case ledger.OutcomeDegraded:
		return "degraded"
	case ledger.OutcomeOK, ledger.OutcomeSkipped:
	}
	return "ok"
}

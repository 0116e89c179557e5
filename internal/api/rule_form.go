package api

import (
	"tallyman/engine"
	"tallyman/internal/api/view"
	"tallyman/internal/wire"
)

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
		Enabled: s.Enabled, FileEnabled: s.Rule.Enabled, Switch: view.NewSwitchForm(s.Switch), Health: view.HealthOf(s),
		Verified: s.Verified, Reason: s.Reason, NextDue: wire.Moment(s.NextDue), Warnings: s.Warnings, Shadow: s.Rule.Shadow, Promoted: wire.Moment(s.Promoted),
		Recent: view.NewRecent(s.Judged),
	}
	if s.LastRun != nil {
		f.LastRun = view.NewRunStatus(s.LastRun)
		f.Pending, f.Firing = s.LastRun.Pending, s.LastRun.Firing
	}
	return f
}

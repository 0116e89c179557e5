package api

import (
	"encoding/xml"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

type (
	// RulesForm is a page of the rules, and what holds for all of them.
	RulesForm struct {
		XMLName  xml.Name      `json:"-" xml:"rules"`
		Paused   *SwitchForm   `json:"paused,omitempty" xml:"paused,omitempty" doc:"every rule is stopped"`
		Rules    []RuleForm    `json:"rules" xml:"rule" doc:"by id" nullable:"false"`
		Cursor   string        `json:"cursor,omitempty" xml:"cursor,omitempty" doc:"after this id there are more"`
		Problems []FileProblem `json:"problems" xml:"problems>problem" doc:"of the rule files, each of which is in force as it was before" nullable:"false"`
		Version  string        `json:"version" xml:"version" doc:"a hash of the rules that the answering node runs"`
		Strays   []SwitchForm  `json:"strays,omitempty" xml:"strays>switch,omitempty" doc:"switches of rules or scopes that no file has" nullable:"false"`
	}
	// RuleForm is a rule and how it is in each scope.
	RuleForm struct {
		XMLName     xml.Name         `json:"-" xml:"rule"`
		ID          string           `json:"id" xml:"id"`
		Title       string           `json:"title,omitempty" xml:"title,omitempty"`
		Description string           `json:"description,omitempty" xml:"description,omitempty"`
		Owner       string           `json:"owner,omitempty" xml:"owner,omitempty"`
		RunbookURL  string           `json:"runbookUrl,omitempty" xml:"runbookUrl,omitempty"`
		Labels      notice.LabelForm `json:"labels,omitempty" xml:"labels,omitempty"`
		File        string           `json:"file" xml:"file"`
		Stale       bool             `json:"stale,omitempty" xml:"stale,omitempty" doc:"its file is bad: this is the last good version"`
		Source      string           `json:"source" xml:"source"`
		Mode        string           `json:"mode" xml:"mode" enum:"state,event"`
		Type        string           `json:"type" xml:"type" doc:"of its notices"`
		Scopes      []ScopeForm      `json:"scopes" xml:"scopes>scope" doc:"one, with an empty name, where the rule has no scopes" nullable:"false"`
	}
	// ScopeForm is a rule in a scope.
	ScopeForm struct {
		Scope       string      `json:"scope" xml:"scope"`
		Cron        string      `json:"cron" xml:"cron"`
		Timezone    string      `json:"timezone" xml:"timezone"`
		Enabled     bool        `json:"enabled" xml:"enabled" doc:"it runs, by its file or by a switch"`
		FileEnabled bool        `json:"fileEnabled" xml:"fileEnabled" doc:"what the file says"`
		Switch      *SwitchForm `json:"switch,omitempty" xml:"switch,omitempty" doc:"what an operator says instead"`
		Health      string      `json:"health" xml:"health" enum:"ok,degraded,failing,unverified,waiting,disabled" doc:"of its last run; waiting = it has not run yet"`
		Verified    bool        `json:"verified" xml:"verified"`
		Reason      string      `json:"reason,omitempty" xml:"reason,omitempty" doc:"why it is not verified"`
		NextDue     *time.Time  `json:"nextDue,omitempty" xml:"nextDue,omitempty"`
		LastRun     *RunStatus  `json:"lastRun,omitempty" xml:"lastRun,omitempty"`
		Pending     int         `json:"pending" xml:"pending" doc:"findings that wait for their time"`
		Firing      int         `json:"firing" xml:"firing" doc:"findings that were told"`
		Warnings    []string    `json:"warnings,omitempty" xml:"warnings>warning,omitempty" nullable:"false"`
		Shadow      bool        `json:"shadow,omitempty" xml:"shadow,omitempty"`
		Promoted    *time.Time  `json:"promoted,omitempty" xml:"promoted,omitempty"`
		Recent      *Recent     `json:"recent,omitempty" xml:"recent,omitempty"`
	}
	// SwitchForm is what an operator has switched.
	SwitchForm struct {
		Rule   string     `json:"rule" xml:"rule" doc:"* = every rule"`
		Scope  string     `json:"scope" xml:"scope" doc:"* = the whole rule"`
		State  string     `json:"state" xml:"state" enum:"enabled,disabled"`
		Until  *time.Time `json:"until,omitempty" xml:"until,omitempty" doc:"when it ends by itself"`
		Reason string     `json:"reason,omitempty" xml:"reason,omitempty"`
		By     string     `json:"by" xml:"by"`
		At     time.Time  `json:"at" xml:"at"`
	}
)

// NewSwitchForm is the switch as clients see it; nil of none.
func NewSwitchForm(s *ledger.Switch) *SwitchForm {
	if s == nil {
		return nil
	}
	f := &SwitchForm{Rule: s.Rule, Scope: s.Scope, State: "disabled", Reason: s.Reason, By: s.By, At: s.At.UTC(), Until: moment(s.Until)}
	if s.State == ledger.SwitchOn {
		f.State = "enabled"
	}
	return f
}

// moment is a time that may be none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// newRuleForms groups the statuses, which are in the order of rules and scopes.
func newRuleForms(list []engine.RuleStatus, stale map[string]bool) []RuleForm {
	forms := []RuleForm{}
	for i := range list {
		r := list[i].Rule
		if len(forms) == 0 || forms[len(forms)-1].ID != r.ID {
			forms = append(forms, RuleForm{
				ID: r.ID, Title: r.Title, Description: r.Description, Owner: r.Owner, RunbookURL: r.RunbookURL, Labels: r.Labels, File: r.File,
				Stale: stale[r.ID], Source: r.Source, Mode: string(r.Mode), Type: r.Notice.Type,
			})
		}
		last := &forms[len(forms)-1]
		last.Scopes = append(last.Scopes, newScopeForm(&list[i]))
	}
	return forms
}

func newScopeForm(s *engine.RuleStatus) ScopeForm {
	f := ScopeForm{
		Scope: s.Rule.Scope, Cron: s.Rule.Schedule.Cron, Timezone: s.Rule.Schedule.Timezone,
		Enabled: s.Enabled, FileEnabled: s.Rule.Enabled, Switch: NewSwitchForm(s.Switch), Health: healthOf(s),
		Verified: s.Verified, Reason: s.Reason, NextDue: moment(s.NextDue), Warnings: s.Warnings, Shadow: s.Rule.Shadow, Promoted: moment(s.Promoted),
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

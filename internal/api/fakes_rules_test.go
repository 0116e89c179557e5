package api_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tallyman/engine"
	"tallyman/engine/why"
	"tallyman/internal/api/view"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules"
)

// fakeRules gives configured answers, and records its calls.
type fakeRules struct {
	asked              string
	askedFrom, askedTo time.Time
	err                error
	switches           []ledger.Switch
	scopes             []engine.RuleStatus
	ordered            *engine.RequestedFiring
	begun              int          // firings that were ordered
	reach              *rules.Reach // made once
	runs               []ledger.Run // nil = the last one of the first scope
}

func (f *fakeRules) Promote(_ context.Context, who ledger.Author, rule string, scope *string) ([]ledger.Promotion, error) {
	f.asked = fmt.Sprint(rule, " ", scope != nil, " ", who.By)
	return []ledger.Promotion{{Rule: rule, Scope: "119240", At: bin().CreatedAt, By: who.By}}, f.err
}

func (f *fakeRules) Why(_ context.Context, rule string, scope *string, key string, look bool) (*why.Answer, error) {
	f.asked = fmt.Sprint(rule, " ", scope != nil, " ", key, " ", look)
	return everyWhy(), f.err
}

func (f *fakeRules) Turn(_ context.Context, _ ledger.Author, rule string, scope *string, s ledger.Switch) ([]engine.RuleStatus, error) {
	f.asked = fmt.Sprint(rule, " ", scope != nil, " ", s)
	return f.scopes, f.err
}

func (f *fakeRules) Pause(_ context.Context, _ ledger.Author, s ledger.Switch) error {
	f.asked = fmt.Sprint(s)
	s.Rule, s.Scope, s.At = ledger.Every, ledger.Every, bin().CreatedAt
	if f.switches = nil; s.State == ledger.SwitchOff {
		f.switches = []ledger.Switch{s}
	}
	return f.err
}

func (f *fakeRules) RunNow(_ context.Context, rule string, scope *string, order func(*engine.RequestedFiring) error) (*engine.RequestedFiring, error) {
	f.asked = fmt.Sprint(rule, " ", scope != nil)
	if f.err == nil {
		if err := order(f.ordered); err != nil {
			return nil, err
		}
		f.begun++
	}
	return f.ordered, f.err
}

func (f *fakeRules) Switches() []ledger.Switch { return f.switches }

func (f *fakeRules) Status(context.Context) ([]engine.RuleStatus, error) {
	return slices.Clone(f.scopes), f.err
}

func (f *fakeRules) InForce() []*rules.Rule {
	list := make([]*rules.Rule, len(f.scopes))
	for i := range f.scopes {
		list[i] = f.scopes[i].Rule
	}
	return list
}

func (f *fakeRules) Reach() *rules.Reach {
	if f.reach == nil {
		f.reach = rules.NewReach(f.InForce())
	}
	return f.reach
}

func (f *fakeRules) Scopes(context.Context, string) ([]engine.RuleStatus, error) {
	return slices.Clone(f.scopes), f.err
}

func (f *fakeRules) Find(string, *string) error { return f.err }

func (f *fakeRules) Now() time.Time { return bin().CreatedAt }

// Runs is what the ledger has of the rule.
func (f *fakeRules) Runs(ctx context.Context, rule string, scope *string, limit int) ([]ledger.Run, error) {
	return f.RunsDue(ctx, rule, scope, time.Time{}, time.Time{}, limit)
}

// RunsDue is what the ledger has of the rule, whatever the time.
func (f *fakeRules) RunsDue(_ context.Context, rule string, scope *string, from, to time.Time, limit int) ([]ledger.Run, error) {
	f.asked = fmt.Sprint(rule, " ", scope != nil, " ", limit)
	f.askedFrom, f.askedTo = from, to
	if f.runs != nil {
		return slices.DeleteFunc(slices.Clone(f.runs), func(r ledger.Run) bool { return scope != nil && r.Scope != *scope }), nil
	}
	return []ledger.Run{*f.scopes[0].LastRun}, nil
}

// Findings is what the ledger has of the rule.
func (f *fakeRules) Findings(_ context.Context, _, scope string) ([]finding.State, error) {
	if scope != "119240" {
		return nil, nil
	}
	at := bin().CreatedAt
	return []finding.State{
		{Key: `["B"]`, Phase: finding.Pending, Episode: at},
		{Key: `["A"]`, Phase: finding.Firing, Episode: at, FiringSince: at.Add(time.Minute), AbsentSince: at, Priority: 3, LastNotified: at, Ordinal: 2, NoticeID: "n_abc"},
	}, nil
}

// twoScopes is a rule whose second scope is disabled.
func twoScopes() []engine.RuleStatus {
	at := bin().CreatedAt
	rule := rules.Rule{
		ID: "negative-bin-stock", Scope: "119240", Title: "Negative bin stock", Enabled: true, Source: "wms", Mode: rules.ModeState, File: "rules/stock.yaml",
		Labels: map[string]string{"area": "replenishment"}, OwnLabels: map[string]string{"area": "replenishment"},
		Schedule: rules.Schedule{Cron: "*/5 * * * *", Timezone: "Asia/Shanghai"},
		Notice:   rules.Notice{Type: "REP_NOTICE"},
	}
	other := rule
	other.Scope = "119241"
	run := &ledger.Run{Rule: rule.ID, Scope: rule.Scope, Due: at, Started: at, Node: "one", Outcome: ledger.OutcomeOK, Rows: 2, Matched: 1, Pending: 1, Firing: 1}
	return []engine.RuleStatus{
		{Rule: &rule, Enabled: true, Verified: true, NextDue: at.Add(5 * time.Minute), LastRun: run},
		{Rule: &other, Switch: &ledger.Switch{
			Rule: rule.ID, Scope: ledger.Every, State: ledger.SwitchOff, Until: at.Add(time.Hour), At: at, Reason: "stocktake", By: "user:ann",
		}},
	}
}

func ruleFiles() view.RuleFiles {
	return view.RuleFiles{
		Version: "0a1b2c", Since: bin().CreatedAt, Stale: map[string]bool{"negative-bin-stock": true},
		Problems: []wire.FileProblem{{Code: "unknown_field", File: "rules/stock.yaml", Line: 3, Col: 5, Message: "unknown field hwen", Hint: "did you mean when?"}},
	}
}

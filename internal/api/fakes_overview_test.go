package api_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tallyman/engine"
	"tallyman/internal/api/overview"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// fakeOverview is a ledger whose notices are one at a time each, and what else an overview is made of.
type fakeOverview struct {
	fakeSamples

	mu       sync.Mutex
	made     []ledger.NoticeCount // each at its Start
	findings []ledger.FindingCount
	err      error
	asked    []string // what was counted: from, to
	looks    int
	takes    time.Duration // how long a look takes
}

func newFakeOverview() *fakeOverview {
	at := bin().CreatedAt
	return &fakeOverview{
		made: []ledger.NoticeCount{
			{Start: at.Add(-24 * time.Hour), Warehouse: "119240", Count: 100, Urgent: 100}, // too old
			{Start: at.Add(-3 * time.Hour), Warehouse: "119240", Count: 4, Urgent: 1},
			{Start: at.Add(-3 * time.Hour), Warehouse: "119241", Count: 5},
			{Start: at.Add(-30 * time.Minute), Warehouse: "119240", Count: 2, Urgent: 2},
			{Start: at, Warehouse: "119241", Count: 3, Urgent: 1},
		},
		findings: []ledger.FindingCount{{Warehouse: "", Pending: 1}, {Warehouse: "119240", Firing: 7, Pending: 2}, {Warehouse: "119241", Firing: 3}},
	}
}

// served is the state behind the API. Its rules are those of twoScopes and one rule without scopes, which is in shadow.
func (f *fakeOverview) served() overviewed {
	return overviewed{Ledger: f, Standing: func(context.Context) ([]engine.RuleStatus, error) {
		list := twoScopes()
		rule := *list[0].Rule
		rule.ID, rule.Scope, rule.Shadow = "orphans", "", true
		return append(list, engine.RuleStatus{Rule: &rule, Enabled: true, Since: bin().CreatedAt.Add(-time.Hour)}), f.failing()
	}, Node: func(context.Context) overview.NodeReport {
		return overview.NodeReport{
			Node: "one", Version: "test", Health: []wire.Health{{Part: "ledger", OK: f.failing() == nil}},
			Nodes: []wire.NodeStatus{{
				Name: "one", Version: "test", Rules: "0a1b2c", Started: bin().CreatedAt, Changed: bin().CreatedAt, Seen: bin().CreatedAt,
				Lanes: []wire.HeldLanes{{Sink: "inbox", Warehouses: []string{"119240", "119241"}}},
			}},
		}
	}}
}

func (f *fakeOverview) CountNotices(_ context.Context, from, to time.Time, part time.Duration) ([]ledger.NoticeCount, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprint(from.UTC().Format("15:04"), "-", to.UTC().Format("15:04"), " ", part))
	var out []ledger.NoticeCount
	for _, n := range f.made {
		if !n.Start.Before(from) && n.Start.Before(to) {
			n.Start = n.Start.Truncate(part)
			out = append(out, n)
		}
	}
	return out, f.err
}

func (f *fakeOverview) CountFindings(context.Context) ([]ledger.FindingCount, error) {
	pass(f.takes)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	return slices.Clone(f.findings), f.err
}

func (f *fakeOverview) Promotions(context.Context) ([]ledger.Promotion, error) {
	return nil, f.failing()
}

func (f *fakeOverview) failing() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// change does something to what the ledger has.
func (f *fakeOverview) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// overviewing are the changes of a bundle whose overview is of the fake, and of a rule that is switched off. now is the time of the rules.
func (f *fakeOverview) overviewing(now func() time.Time) func(*parts) {
	return func(d *parts) {
		rules := &fakeRules{scopes: twoScopes(), switches: []ledger.Switch{
			{Rule: ledger.Every, Scope: ledger.Every, State: ledger.SwitchOff, At: bin().CreatedAt, By: "user:bo"},
		}}
		d.Rules, d.RuleFiles, d.Overview = clockedRules{rules, now}, ruleFiles, f.served()
	}
}

// clockedRules are rules that have another time.
type clockedRules struct {
	*fakeRules

	now func() time.Time
}

func (r clockedRules) Now() time.Time { return r.now() }

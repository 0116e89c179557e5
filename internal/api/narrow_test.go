package api_test

import (
	"context"
	"strings"
	"testing"

	"tallyman/internal/api/view"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// TestRunsOfOthersTellNoData has one who is for a single warehouse look at a rule whose runs in two of them have met bad rows.
func TestRunsOfOthersTellNoData(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	b.deps.Rules, b.deps.History, b.deps.RuleFiles, b.deps.Auth = f, f, ruleFiles, somePeople()
	run := func(scope, bin string) *ledger.Run {
		return &ledger.Run{
			Rule: "negative-bin-stock", Scope: scope, Outcome: ledger.OutcomeFailed, Errored: 3,
			Error: `scan_failed: invalid input: "` + bin + `"`, Samples: []string{`["` + bin + `"]: division by zero`},
		}
	}
	mine, theirs := run("119240", "MINE"), run("119241", "THEIRS")
	f.scopes[0].LastRun, f.scopes[1].LastRun, f.runs = mine, theirs, []ledger.Run{*mine, *theirs}
	b.deps.Status = func(context.Context) (wire.StatusReport, error) {
		return wire.StatusReport{Rules: []wire.RuleStatus{
			{ID: "negative-bin-stock", Scope: "119240", LastRun: view.NewRunStatus(mine)},
			{ID: "negative-bin-stock", Scope: "119241", LastRun: view.NewRunStatus(theirs)},
			{ID: "without-scopes", LastRun: view.NewRunStatus(theirs)},
		}}, nil
	}
	b.api = newAPI(&b.deps)
	for _, c := range []struct{ method, path string }{
		{"GET", "/rules"},
		{"GET", "/rules/negative-bin-stock"},
		{"GET", "/rules/negative-bin-stock/runs"},
		{"GET", "/status"},
		{"POST", "/rules/negative-bin-stock/disable?scope=119240"},
	} {
		got := b.handleBody(t, c.method, "/api/v1"+c.path, "", "Authorization", "Bearer site")
		codeAlone := strings.Contains(got.body, `"error":"scan_failed"`) // of the rule without scopes
		if got.status != 200 || strings.Contains(got.body, "THEIRS") || strings.Contains(got.body, "119241") || strings.Count(got.body, "MINE") != 2 || codeAlone != (c.path == "/status") {
			t.Errorf("%s answers %d %s", c.path, got.status, got.body)
		}
		if got := b.handleBody(t, c.method, "/api/v1"+c.path, "", "Authorization", "Bearer admin"); strings.Count(got.body, "THEIRS") < 2 {
			t.Errorf("an admin of all warehouses gets %s", got.body)
		}
	}
}

package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
)

func TestRulesAreListed(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	f.switches = []ledger.Switch{
		{Rule: ledger.Every, Scope: ledger.Every, State: ledger.SwitchOff, At: bin().CreatedAt, By: "user:bo"},
		{Rule: "gone", Scope: "x", State: ledger.SwitchOn, At: bin().CreatedAt, By: "user:bo"},
	}
	golden(t, "rules.json", b.get(t, "/api/v1/rules").body)
	golden(t, "rules.xml", b.get(t, "/api/v1/rules?limit=1", "Accept", "application/xml").body)
	golden(t, "rule.json", b.get(t, "/api/v1/rules/negative-bin-stock").body)
	golden(t, "rule_runs.json", b.get(t, "/api/v1/rules/negative-bin-stock/runs?scope=119240&limit=3").body)
	if f.asked != "negative-bin-stock true 3" {
		t.Errorf("asked %s", f.asked)
	}
	golden(t, "rule_findings.json", b.get(t, "/api/v1/rules/negative-bin-stock/findings").body)
	if got := b.get(t, "/api/v1/rules/negative-bin-stock/findings?state=pending&limit=1").body; !strings.Contains(got, `["B"]`) && !strings.Contains(got, `[\"B\"]`) || strings.Contains(got, "firing") {
		t.Errorf("%s", got)
	}
	if got := b.get(t, "/api/v1/rules?after=negative-bin-stock").body; !strings.Contains(got, `"rules":[]`) {
		t.Errorf("%s", got)
	}
}

func TestRulesAreSwitched(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	until := bin().CreatedAt.Add(2 * time.Hour)
	for _, c := range []struct {
		path, body string
		scope      bool
		want       ledger.Switch
	}{
		{"disable", "", false, ledger.Switch{State: ledger.SwitchOff}},
		{"disable?scope=119240", `{"until":"2026-06-01T10:10:00+08:00","reason":"stocktake"}`, true, ledger.Switch{State: ledger.SwitchOff, Until: until, Reason: "stocktake"}},
		{"enable", `{"for":"2h"}`, false, ledger.Switch{State: ledger.SwitchOn, Until: until}},
		{"clear", "", false, ledger.Switch{State: ledger.SwitchCleared}},
	} {
		got := b.do(t, "POST", "/api/v1/rules/negative-bin-stock/"+c.path, c.body)
		c.want.By = "anonymous"
		if want := fmt.Sprint("negative-bin-stock ", c.scope, " ", c.want); got.status != 200 || f.asked != want {
			t.Errorf("%s: %d %s\nasked %s\nwant  %s", c.path, got.status, got.body, f.asked, want)
		}
		golden(t, "rule_switched.json", got.body)
	}
	if got := b.do(t, "POST", "/api/v1/rules/pause", `{"reason":"move"}`); got.status != 200 || !strings.Contains(got.body, `"reason":"move"`) {
		t.Errorf("pause: %d %s", got.status, got.body)
	}
	if got := b.do(t, "POST", "/api/v1/rules/resume", ""); got.status != 200 || strings.TrimSpace(got.body) != "{}" {
		t.Errorf("resume: %d %s", got.status, got.body)
	}
	golden(t, "rules_reloaded.json", b.do(t, "POST", "/api/v1/rules/reload", "").body)
}

func TestRuleIsRun(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	f.ordered = &engine.RequestedFiring{Rule: "negative-bin-stock", Scope: "119240", Due: bin().CreatedAt}
	got := b.do(t, "POST", "/api/v1/rules/negative-bin-stock/run", "")
	if got.status != 202 || got.header.Get("Location") != "/api/v1/rules/negative-bin-stock/runs" || strings.Contains(got.body, `"run"`) {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	f.ordered.Run = f.scopes[0].LastRun
	got = b.do(t, "POST", "/api/v1/rules/negative-bin-stock/run?scope=119240", "")
	if got.status != 200 || f.asked != "negative-bin-stock true" {
		t.Errorf("%d, asked %s", got.status, f.asked)
	}
	golden(t, "rule_run.json", got.body)
}

func TestLiveRulesRefusals(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	for _, c := range []struct{ method, path, body, code string }{
		{"GET", "?limit=0", "", "bad_limit"},
		{"GET", "/x/runs?limit=1001", "", "bad_limit"},
		{"GET", "/x/runs?since=yesterday", "", "bad_since"},
		{"GET", "/x/runs?until=-1h", "", "bad_since"},
		{"GET", "/x/findings?limit=no", "", "bad_limit"},
		{"GET", "/x/findings?state=open", "", "invalid_parameter"},
		{"POST", "/x/disable", `{"until":"2026-06-01T10:10:00Z","for":"2h"}`, "invalid_body"},
		{"POST", "/x/disable", `{"for":"soon"}`, "invalid_body"},
		{"POST", "/x/disable", `{"reason":"` + strings.Repeat("é", 201) + `"}`, "invalid_body"},
		{"POST", "/pause", `{"because":"x"}`, "invalid_body"},
	} {
		if got := b.do(t, c.method, "/api/v1/rules"+c.path, c.body); got.asProblem(t).Code != c.code {
			t.Errorf("%s %s %s: %s", c.method, c.path, c.body, got.body)
		}
	}
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{fmt.Errorf("%w: on node one", engine.ErrRunning), 409, "rule_busy"},
		{&engine.UnverifiedError{Err: errors.New("probe_failed: no table")}, 409, "rule_unverified"},
		{engine.ErrStopping, 503, "not_ready"},
		{engine.ErrManyScopes, 400, "scope_missing"},
		{&engine.UnknownError{What: "rule", Name: "x"}, 404, "rule_not_found"},
	} {
		f.err = c.err
		if got := b.do(t, "POST", "/api/v1/rules/x/run", ""); got.status != c.status || got.asProblem(t).Code != c.code {
			t.Errorf("%v: %d %s", c.err, got.status, got.body)
		}
	}
	f.err = engine.ErrUntilPast
	if got := b.do(t, "POST", "/api/v1/rules/x/enable", ""); got.status != 422 {
		t.Errorf("%d %s", got.status, got.body)
	}
	f.err = &engine.UnknownError{What: "scope", Name: "x"}
	for _, path := range []string{"GET /rules/x", "GET /rules/x/runs", "GET /rules/x/findings", "POST /rules/x/clear"} {
		method, path, _ := strings.Cut(path, " ")
		if got := b.do(t, method, "/api/v1"+path, ""); got.status != 404 || got.asProblem(t).Code != "scope_not_found" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// Runs of a time are asked of the ledger by their due times.
func TestRunsOfATime(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	now := f.Now()
	for query, want := range map[string][2]time.Time{
		"":                                   {},
		"?since=3h&until=90m":                {now.Add(-3 * time.Hour), now.Add(-90 * time.Minute)},
		"?since=2026-06-01T00:00:00%2B08:00": {time.Date(2026, 5, 31, 16, 0, 0, 0, time.UTC), {}},
	} {
		got := b.get(t, "/api/v1/rules/negative-bin-stock/runs"+query)
		if got.status != http.StatusOK || !f.askedFrom.Equal(want[0]) || !f.askedTo.Equal(want[1]) {
			t.Errorf("%s: %d, asked from %s to %s", query, got.status, f.askedFrom, f.askedTo)
		}
	}
}

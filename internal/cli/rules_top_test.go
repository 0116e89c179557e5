package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/wire"
)

// topForm has a slow rule, a noisy rule and a failing rule.
func topForm(now time.Time) wire.RulesForm {
	scope := func(name, outcomes string, notices int64, took ...int64) wire.ScopeForm {
		return wire.ScopeForm{Scope: name, Recent: &wire.Recent{
			Runs: int64(len(took)), Outcomes: outcomes, DurationsMS: took, Notices: notices, First: now.Add(-2 * time.Hour),
		}}
	}
	return wire.RulesForm{Rules: []wire.RuleForm{
		{ID: "failing", Scopes: []wire.ScopeForm{scope("", "fdo", 1, 10, 10, 10)}},
		{ID: "noisy", Scopes: []wire.ScopeForm{scope("119240", "ooo", 90, 20, 30, 20), {Scope: "119241"}}},
		{ID: "slow", Scopes: []wire.ScopeForm{scope("", "ooo", 0, 1500, 100, 2500)}},
	}}
}

func TestRulesTop(t *testing.T) {
	t.Parallel()
	form := topForm(time.Now())
	answer, err := json.Marshal(form)
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range map[string]string{
		"": `RULE     SCOPE   TOOK  SLOWEST  FAILED  NOTICES/H
slow     -       1.5s  2.5s     0 of 3  0.0
noisy    119240  20ms  30ms     0 of 3  45.0
failing  -       10ms  10ms     2 of 3  0.5
`,
		byNoisy:   "RULE     SCOPE   TOOK  SLOWEST  FAILED  NOTICES/H\nnoisy    119240  20ms  30ms     0 of 3  45.0\n",
		byFailing: "RULE     SCOPE   TOOK  SLOWEST  FAILED  NOTICES/H\nfailing  -       10ms  10ms     2 of 3  0.5\n",
	} {
		url, _ := server(t, reply{http.StatusOK, string(answer)})
		args := []string{"rules", "top"}
		if by != "" {
			args = append(args, "--by", by, "--limit", "1")
		}
		code, out, errOut := run(t, url, "", args...)
		if code != ExitFine || strings.Join(strings.Fields(out), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("by %q: %d\n%s%s", by, code, out, errOut)
		}
	}
	url, _ := server(t, reply{http.StatusOK, `{"rules":[]}`})
	if code, out, _ := run(t, url, "", "rules", "top"); code != ExitFine || out != "No rule has run.\n" {
		t.Errorf("no rules: %d %s", code, out)
	}
	for _, bad := range [][]string{{"--by", "loud"}, {"--limit", "0"}} {
		if code, out, errOut := run(t, url, "", append([]string{"rules", "top"}, bad...)...); code != ExitUsage {
			t.Errorf("%v: %d %s%s", bad, code, out, errOut)
		}
	}
}

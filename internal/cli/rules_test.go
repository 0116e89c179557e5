package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/wire"
)

func TestRulesTable(t *testing.T) {
	t.Parallel()
	form := decode[wire.RulesForm](t, apiAnswer(t, "rules.json"))
	var wide, narrow strings.Builder
	writeRules(&wide, 200, &form, someTime)
	const want = `Every rule is stopped by user:bo.

RULE                SCOPE   HEALTH              FIRING  PENDING  NEXT      LAST RUN    TOOK  SWITCH
negative-bin-stock  119240  ok, file bad        1       1        in 4m30s  ok 30s ago  -     -
negative-bin-stock  119241  disabled, file bad  0       0        -         -           -     disabled by user:ann until 2026-06-01 01:10:00Z: stocktake

The switch of gone in x is about a rule that no file has; tallyman rules clear gone --scope x removes the switch.

Not in force, because of their files:
  rules/stock.yaml:3:5: unknown_field: unknown field hwen
      did you mean when?
`
	if wide.String() != want {
		t.Errorf("got\n%s", wide.String())
	}
	writeRules(&narrow, 80, &form, someTime)
	for line := range strings.Lines(narrow.String()) {
		if strings.HasPrefix(line, "negative") && len([]rune(line)) > 81 {
			t.Errorf("%d: %s", len(line), line)
		}
	}
	var none strings.Builder
	writeRules(&none, 80, &wire.RulesForm{}, someTime)
	if none.String() != "There are no rules.\n" {
		t.Errorf("%s", none.String())
	}
}

func TestRulesLook(t *testing.T) {
	t.Parallel()
	url, calls := server(t, apiAnswer(t, "rules.json"), apiAnswer(t, "rule.json"), apiAnswer(t, "rule_runs.json"), apiAnswer(t, "rule_runs.json"), apiAnswer(t, "rule_findings.json"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rules", "list"}, "RULE"},
		{[]string{"rules", "show", "negative-bin-stock"}, "  switch       disabled by user:ann until 2026-06-01 01:10:00Z: stocktake\n"},
		{[]string{"rules", "runs", "negative-bin-stock", "--scope", "119240"}, "2026-06-01 00:10:00Z  119240  ok"},
		{[]string{"rules", "runs", "negative-bin-stock", "--since", "3h", "--until", "2h"}, "2026-06-01 00:10:00Z  119240  ok"},
		{[]string{"rules", "findings", "negative-bin-stock", "--state", "firing"}, `["A"]  119240  firing`},
	} {
		if code, out, errOut := run(t, url, "", c.args...); code != ExitFine || !strings.Contains(out, c.want) {
			t.Errorf("%v: %d %s%s", c.args, code, out, errOut)
		}
	}
	var asked []string
	for _, call := range *calls {
		asked = append(asked, call.method+" "+call.path)
	}
	want := []string{
		"GET /api/v1/rules?limit=1000", "GET /api/v1/rules/negative-bin-stock", "GET /api/v1/rules/negative-bin-stock/runs?limit=20&scope=119240",
		"GET /api/v1/rules/negative-bin-stock/runs?limit=20&since=3h&until=2h",
		"GET /api/v1/rules/negative-bin-stock/findings?limit=50&state=firing",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
}

func TestRulesSwitch(t *testing.T) {
	t.Parallel()
	switched := apiAnswer(t, "rule_switched.json")
	paused := reply{200, `{"paused":{"rule":"*","scope":"*","state":"disabled","by":"user:bo","at":"2026-06-01T00:10:00Z","reason":"move"}}`}
	url, calls := server(t, switched, switched, switched, paused, reply{200, `{}`}, reply{200, `{"rule":"gone","scopes":[]}`})
	both := "negative-bin-stock in 119240 is enabled by its file.\nnegative-bin-stock in 119241 is disabled by user:ann until 2026-06-01 01:10:00Z: stocktake.\n"
	for _, c := range []struct{ line, body, out string }{
		{"rules disable negative-bin-stock --for 2h --reason stocktake", `{"for":"2h","reason":"stocktake"}`, both},
		{"rules enable negative-bin-stock --scope 119240 --until 2026-06-01T18:00:00+08:00", `{"until":"2026-06-01T18:00:00+08:00"}`, "negative-bin-stock in 119240 is enabled by its file.\n"},
		{"rules clear negative-bin-stock", "", both},
		{"rules pause --reason move", `{"reason":"move"}`, "Every rule is stopped by user:bo: move.\n"},
		{"rules resume", "", "The rules run as their files and switches say.\n"},
		{"rules clear gone", "", "The switch of gone is cleared; no file has the rule.\n"},
	} {
		code, out, errOut := run(t, url, "", strings.Fields(c.line)...)
		if call := (*calls)[len(*calls)-1]; code != ExitFine || out != c.out || call.body != c.body {
			t.Errorf("%s: %d %s%s, sent %s", c.line, code, out, errOut, call.body)
		}
	}
	for _, line := range []string{"rules disable x --until soon", "rules disable x --until 2026-06-01T18:00:00Z --for 2h", "rules disable", "rules pause all"} {
		if code, _, _ := run(t, url, "", strings.Fields(line)...); code != ExitUsage {
			t.Errorf("%s: %d", line, code)
		}
	}
}

func TestRulesRunAndReload(t *testing.T) {
	t.Parallel()
	failed := reply{200, strings.Replace(apiAnswer(t, "rule_run.json").body, `"outcome":"ok"`, `"outcome":"failed","error":"probe_timeout: 5s"`, 1)}
	url, _ := server(t, apiAnswer(t, "rule_run.json"), failed, reply{202, `{"rule":"x","scope":"","due":"2026-06-01T00:10:00Z"}`},
		reply{409, `{"status":409,"code":"rule_busy","detail":"a firing of the rule is running"}`}, apiAnswer(t, "rules_reloaded.json"), reply{200, `{"files":1,"rules":1,"version":"ab"}`})
	for _, c := range []struct {
		line string
		code int
		out  string
	}{
		{"rules run negative-bin-stock --scope 119240", ExitFine, "negative-bin-stock in 119240: ok in 0s, 2 rows, 1 matched, 1 firing, 1 pending, 0 notices.\n"},
		{"rules run negative-bin-stock", ExitProblems, "  probe_timeout: 5s\n"},
		{"rules run x", ExitFine, "x was due at 2026-06-01 00:10:00Z and has not ended; tallyman rules runs x shows it when it has.\n"},
		{"rules run x", ExitProblems, "rule_busy: a firing of the rule is running"},
		{"rules reload", ExitProblems, "7 rules of 2 files: 1 added, 2 changed, 1 removed, 1 as before (version 0a1b2c)\n"},
		{"rules reload", ExitFine, "1 rule of 1 file: 0 added, 0 changed, 0 removed (version ab)\n"},
	} {
		if code, out, errOut := run(t, url, "", strings.Fields(c.line)...); code != c.code || !strings.Contains(out+errOut, c.out) {
			t.Errorf("%s: %d %s%s", c.line, code, out, errOut)
		}
	}
}

func TestSoonAndLately(t *testing.T) {
	t.Parallel()
	due := someTime.Add(-time.Second)
	if got := soon(&due, someTime); got != "due" {
		t.Errorf("%s", got)
	}
	if got := lately(&wire.RunStatus{Due: someTime.Add(time.Second), Outcome: "ok"}, someTime); got != "ok" { // the server's clock is ahead
		t.Errorf("%s", got)
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
	"tallyman/internal/authoring"
	"tallyman/rules/problem"
)

// rulesTest runs the command in a folder, with the program's own services.
func rulesTest(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), Process{Args: append([]string{"rules", "test"}, args...), Out: &o, Err: &e}, Default())
	return code, o.String() + e.String()
}

// TestShippedRulesAreTested: every rule that is shipped has tests, which pass and leave nothing of it out.
func TestShippedRulesAreTested(t *testing.T) {
	t.Parallel()
	code, out := rulesTest(t, "--cover", "-o", "json", "../../examples", "../../configs")
	var r ruletest.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if code != ExitFine || r.Cover.Percent != 100 || r.Cover.Rules.All < 7 || len(r.Unchecked) > 0 {
		_, out = rulesTest(t, "--cover", "../../examples", "../../configs")
		t.Errorf("exit code %d, %v\n%s", code, r.Unchecked, out)
	}
}

// TestTheRuleTestOfThePage gives the output that the page shows.
func TestTheRuleTestOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/test-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	types, err := os.ReadFile("../../configs/types.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rules/stock.yaml": cutOut(t, string(page), "```yaml\nversion: 1\n", "```"), "types.yaml": string(types),
		"tests/stock_test.yaml": cutOut(t, string(page), "```yaml\nrules: ../", "```"),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out := rulesTest(t, "--cover", filepath.Join(dir, "tests"))
	out = strings.ReplaceAll(out, dir+string(filepath.Separator), "")
	if want := strings.TrimPrefix(cutOut(t, string(page), "$ tallyman rules test --cover tests/\n", "```"), "$ tallyman rules test --cover tests/\n"); code != ExitProblems || out != want {
		t.Errorf("exit code %d; got\n%s\nthe page shows\n%s", code, out, want)
	}
}

// cutOut is what stands from the first line of start, less a fence, to end.
func cutOut(t *testing.T, page, start, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, start)
	if !ok {
		t.Fatalf("the page has no %q", start)
	}
	body, _, _ := strings.Cut(rest, end)
	return strings.TrimPrefix(start, "```yaml\n") + body
}

// What the clocks say is checked, and a warning like others: it counts, and does not mean that something was left out.
func TestWarningsOfTheClockAreCounted(t *testing.T) {
	t.Parallel()
	warning := problem.List{{Code: "source_time", File: "rule.yaml", Line: 4, Col: 11, Message: "the clock of the source wms is 1m35s ahead of this machine's"}}
	for _, c := range []struct {
		report authoring.Checked
		want   string
	}{
		{authoring.Checked{Files: 1, Rules: 2, Lints: warning}, "No problems: 1 file, 2 sound rules, 1 warning, each checked on its source\n"},
		{authoring.Checked{Files: 1, Rules: 2, Lints: warning, Warnings: warning}, "No problems, but not all could be checked: 1 file, 2 sound rules, 2 warnings\n"},
	} {
		var out bytes.Buffer
		writeChecked(&out, c.report, true, true)
		if !strings.HasSuffix(out.String(), c.want) || !strings.Contains(out.String(), "rule.yaml:4:11: warning: source_time: ") {
			t.Errorf("%s, want %s", out.String(), c.want)
		}
	}
}

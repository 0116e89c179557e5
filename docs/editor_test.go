package docs

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"tallyman/rules/problem"
)

// The task for VS Code in operations.md is JSON, and finds the parts of what `rules check` prints.
func TestTheProblemMatcher(t *testing.T) {
	t.Parallel()
	var file struct {
		Tasks []struct {
			ProblemMatcher struct {
				Pattern struct {
					Regexp                                string
					File, Line, Column, Severity, Message int
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(between(t, read(t, "operations.md"), "`.vscode/tasks.json`:\n\n```json\n", "```")), &file); err != nil {
		t.Fatal(err)
	}
	p := file.Tasks[0].ProblemMatcher.Pattern
	found := func(line string) []string {
		m := regexp.MustCompile(p.Regexp).FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		return []string{m[p.File], m[p.Line], m[p.Column], m[p.Severity], m[p.Message]}
	}
	line := problem.At("rules/stock.yaml", "  crom: x", 7, 3, "unknown_field", `there is no field "crom": x`, "").Error()
	if got, want := found(line), []string{"rules/stock.yaml", "7", "3", "", `unknown_field: there is no field "crom": x`}; !slices.Equal(got, want) {
		t.Errorf("%s: %q", line, got)
	}
	warning := "C:/rules/stock.yaml:4:11: warning: source_unreachable: away"
	if got, want := found(warning), []string{"C:/rules/stock.yaml", "4", "11", "warning", "source_unreachable: away"}; !slices.Equal(got, want) {
		t.Errorf("%s: %q", warning, got)
	}
}

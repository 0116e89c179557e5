package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/problem"
)

// TestRuleTestsAreNoRuleFiles: tests may lie beside the rules.
func TestRuleTestsAreNoRuleFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"rules.yaml":       "version: 1\nrules: []\n",
		"by_name_test.yml": "neither: [nor",
		"by_tests.yaml":    "tests: []\n",
		"misspelt.yaml":    "rules: rules.yaml\ntest: []\n",
		"broken.yaml":      "version: 1\nrules: [",
		"nothing.yaml":     "version: 1\nrules:\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := rules.Load([]string{folder})
	var read []string
	for _, f := range set.Files {
		read = append(read, filepath.Base(f.Path))
	}
	if got := strings.Join(read, " "); got != "broken.yaml misspelt.yaml nothing.yaml rules.yaml" {
		t.Errorf("read %s", got)
	}
	set = rules.Load([]string{filepath.Join(folder, "by_tests.yaml"), folder})
	if !slices.ContainsFunc(set.Problems, func(p problem.Problem) bool { return p.Code == rules.CodeRuleTest }) {
		t.Errorf("a test that is named as a rule file: %v", set.Problems)
	}
	if files, err := rules.Files(folder); err != nil || len(files) != 6 {
		t.Errorf("%v, %v", files, err)
	}
}

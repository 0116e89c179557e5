package rules_test

import (
	"os"
	"path/filepath"
	"testing"

	"tallyman/rules"
)

// TestRuleTestsAreNoRuleFiles: tests may lie beside the rules.
func TestRuleTestsAreNoRuleFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"rules.yaml":       "version: 1\nrules: []\n",
		"by_name_test.yml": "neither: [nor",
		"by_tests.yaml":    "tests: []\n",
		"by_rules.yaml":    "rules: rules.yaml\ntest: []\n",
		"by_list.yaml":     "rules: [rules.yaml]\n",
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
	if got, want := len(read), 3; got != want || read[0] != "broken.yaml" || read[1] != "nothing.yaml" || read[2] != "rules.yaml" {
		t.Errorf("read %v", read)
	}
	for _, name := range []string{"by_tests.yaml", "by_list.yaml"} {
		set := rules.Load([]string{filepath.Join(folder, name), folder})
		if len(set.Problems) == 0 || set.Problems[1].Code != rules.CodeRuleTest && set.Problems[0].Code != rules.CodeRuleTest {
			t.Errorf("%s named as a rule file: %v", name, set.Problems)
		}
	}
	if files, err := rules.Files(folder); err != nil || len(files) != 7 {
		t.Errorf("%v, %v", files, err)
	}
}

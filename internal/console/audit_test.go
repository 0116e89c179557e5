package console

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each action that the code records is in the filter of the audit page. Otherwise the page shows it as a code, and
// nobody can filter by it.
func TestTheAuditPageKnowsEveryAction(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("web/src/pages/audit/actions.ts")
	if err != nil {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`Action: +"([a-z]+\.[a-z]+)"`)
	actions := map[string]bool{}
	for _, folder := range []string{"../../engine", "../../internal", "../../sinks"} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test"+string(filepath.Separator)) {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range written.FindAllStringSubmatch(string(text), -1) {
				actions[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(actions) < 20 {
		t.Fatalf("the code has only these actions: %v", actions)
	}
	for action := range actions {
		if !strings.Contains(string(page), `"`+action+`"`) {
			t.Errorf("web/src/pages/audit/actions.ts lacks the action %s", action)
		}
	}
}

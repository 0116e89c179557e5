package rules_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallyman/rules"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with the file, or writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// The rules of the files in testdata/good equal the JSON files beside them.
func TestGoodFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		if header(readFile(t, path), "columns:") != nil {
			continue // TestGoodFilesTell
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			set := rules.Load([]string{path})
			for _, p := range set.Problems {
				t.Error(p.String())
			}
			for _, r := range set.Rules {
				if len(r.Checksum) != 32 {
					t.Errorf("checksum %q", r.Checksum)
				}
				r.Checksum = "" // of what is compared anyway
			}
			got, err := json.MarshalIndent(set.Rules, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".json", string(got)+"\n")
		})
	}
}

// The whole form of a report: place, line, caret and hint, in the order of the file.
func TestReport(t *testing.T) {
	set := rules.Load([]string{"testdata/bad/everything-at-once.yaml"})
	var b strings.Builder
	for _, p := range set.Problems {
		b.WriteString(p.String() + "\n\n")
	}
	golden(t, "testdata/report.golden", b.String())
}

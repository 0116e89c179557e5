package ruletest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
	"tallyman/internal/testenv"
	"tallyman/rules/problem"
	"tallyman/scanners/sqlite"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// memory is the database in which the program runs probes on tables.
func memory() (ruletest.Database, error) { return sqlite.Open(sqlite.Config{URL: "sqlite::memory:"}) }

// parse reads a test file that lies in testdata; what it says of rules is stock.yaml unless it says it itself.
func parse(t testing.TB, src string) (*ruletest.File, problem.List) {
	t.Helper()
	if !strings.HasPrefix(src, "rules:") && !strings.HasPrefix(src, "#") {
		src = "rules: stock.yaml\n" + src
	}
	return ruletest.Parse("testdata/my_test.yaml", []byte(src))
}

// run runs a test file as parse reads it.
func run(t testing.TB, src string, o ruletest.Options) *ruletest.Report {
	t.Helper()
	f, problems := parse(t, src)
	for _, p := range problems {
		t.Fatal(p.String())
	}
	o.Memory = memory
	r, err := ruletest.Run(t.Context(), []*ruletest.File{f}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// steps is a test of negative-bin-stock with these steps.
func steps(lines ...string) string {
	return test("rule: negative-bin-stock\n    scope: \"119240\"", lines...)
}

// test is a test with these fields and steps.
func test(fields string, lines ...string) string {
	return "tests:\n  - name: it\n    " + fields + "\n    start: 2026-06-01T08:00:00+08:00\n    steps:\n      - " +
		strings.Join(lines, "\n      - ") + "\n"
}

// passes fails the test with what the report says.
func passes(t testing.TB, r *ruletest.Report) {
	t.Helper()
	if !r.Passed() {
		t.Fatalf("not passed:\n%s", told(r))
	}
}

// told returns the failures of a report, one a line.
func told(r *ruletest.Report) string {
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintln(&b, p.String())
	}
	for _, result := range r.Results {
		for _, f := range result.Failures {
			fmt.Fprintf(&b, "%d:%d %s: %s\n", f.Line, f.Col, f.Step, f.Message)
			for _, line := range f.Diff {
				fmt.Fprintln(&b, line)
			}
			for _, p := range f.Problems {
				fmt.Fprintln(&b, p.String())
			}
		}
	}
	return b.String()
}

// folder writes files and returns the folder that they lie in.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

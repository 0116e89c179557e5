package ruletest_test

import (
	"database/sql"
	"errors"
	"flag"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"tallyman/docs/codetest"
	"tallyman/engine/trial/ruletest"
	"tallyman/rules/problem"
	"tallyman/scanners"
	"tallyman/scanners/sqlite"
)

const codesPage = "../../../docs/reference/error-codes.md"

var update = flag.Bool("update", false, "write the outcomes of docs/reference/error-codes.md anew")

// TestErrorCodesDocument runs the examples of rule tests: steps of the page's test, or whole files from rules: on. A
// block with the flag rule is added to the page's rule. Where an SQL block makes a database, the test runs there, not
// in memory.
func TestErrorCodesDocument(t *testing.T) {
	codes := codetest.Declared(t, codetest.Constant, "*.go")
	codes[string(scanners.CodeStage)] = true
	rule, base := codetest.Base(t, codesPage, "base"), codetest.Base(t, codesPage, "test base")
	codetest.Part{
		Page: codesPage, Headings: "Rule tests", Codes: codes,
		Run: func(t *testing.T, e *codetest.Example) string {
			t.Helper()
			src := e.Block("yaml", "")
			if !strings.HasPrefix(src, "rules:") {
				src = base + indented("      ", src)
			}
			t.Chdir(folder(t, map[string]string{"rules.yaml": rule + indented("    ", e.Block("yaml", "rule")), "bins_test.yaml": src}))
			return toldOf(t, "bins_test.yaml", database(t, e.Block("sql", "")))
		},
		Update: *update, Command: "go test ./engine/trial/ruletest -run ErrorCodes",
		Sketch: "```yaml\nan example: steps of a test, or a whole file from rules: on\n```\n",
	}.Test(t)
}

func indented(by, text string) string {
	if text == "" {
		return ""
	}
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}

// database is an SQLite file that the statements have made, or nil.
func database(t *testing.T, statements string) ruletest.Database {
	t.Helper()
	if statements == "" {
		return nil
	}
	db, err := sql.Open("sqlite", "wms.db")
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statements)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	source, err := sqlite.Open(sqlite.Config{URL: "sqlite:wms.db"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

// toldOf are the problems that `tallyman rules test` tells of the file, with --source or without.
func toldOf(t *testing.T, path string, source ruletest.Database) string {
	t.Helper()
	files, found := ruletest.Load([]string{path})
	if len(found) > 0 {
		return shown(found)
	}
	o := ruletest.Options{Memory: memory}
	if source != nil {
		o.Source, o.Engine = source, "wms"
	}
	r, err := ruletest.Run(t.Context(), files, o)
	if err != nil {
		t.Fatal(err)
	}
	found = r.Problems
	for _, result := range r.Results {
		for _, f := range result.Failures {
			found = append(found, f.Problems...)
		}
	}
	return shown(found)
}

func shown(l problem.List) string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

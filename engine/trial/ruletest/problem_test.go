package ruletest_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
	"tallyman/rules/problem"
)

// TestProblemsOfFiles: each problem has its place, its code and its message.
func TestProblemsOfFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, want string }{
		"unknown field":   {steps(`{at: 0m, rows: [], expects: {}}`, `{at: 1m, rows: [], expect: {firing: 0}}`), `8:28: unknown_field: there is no field "expects" here`},
		"unknown notice":  {steps(`{at: 0m, rows: [], expect: {notices: [{titel: x}]}}`), `8:48: unknown_field: there is no field "titel" here`},
		"status":          {steps(`{at: 0m, rows: [], expect: {notices: [{status: fired}]}}`), `8:56: unknown_value: status cannot be "fired"`},
		"warehouse":       {steps(`{at: 0m, rows: [], expect: {notices: [{warehouse: 119240}]}}`), `8:59: wrong_type: warehouse takes a text`},
		"health":          {steps(`{at: 0m, rows: [], expect: {health: good}}`), `8:45: unknown_value: health cannot be "good"`},
		"no unit":         {steps(`{at: 5, rows: [], expect: {firing: 0}}`), `8:14: bad_duration: at: "5" is no duration`},
		"no time":         {steps(`{rows: [], expect: {firing: 0}}`), `8:9: missing_field: at is missing`},
		"order":           {steps(`{at: 5m, rows: [], expect: {firing: 0}}`, `{at: 5m, rows: []}`), `9:14: step_order: the step before is at 5m already`},
		"two inputs":      {steps(`{at: 0m, rows: [], error: timeout, expect: {firing: 0}}`), `8:9: step_input: the step gives 2 of rows, tables and error`},
		"no input":        {steps(`{at: 0m, expect: {firing: 0}}`), `8:9: step_input: the step gives 0 of rows, tables and error`},
		"silent error":    {steps(`{at: 0m, error: "", expect: {firing: 0}}`), `8:25: step_input: error is empty`},
		"nothing":         {steps(`{at: 0m, rows: []}`), `7:5: nothing_expected: no step expects anything`},
		"empty expect":    {steps(`{at: 0m, rows: [], expect: {}}`), `8:36: nothing_expected: nothing is expected`},
		"start":           {strings.Replace(steps(`{at: 0m, rows: [], expect: {firing: 0}}`), "+08:00", "", 1), `6:12: bad_start: "2026-06-01T08:00:00" is no instant`},
		"start as a list": {strings.Replace(steps(`{at: 0m, rows: [], expect: {firing: 0}}`), "2026-06-01T08:00:00+08:00", "[]", 1), `6:12: bad_start: start takes an instant`},
		"kind":            {strings.Replace(steps(`{at: 0m, rows: [], expect: {firing: 0}}`), "rule:", "columns: {qty: decimel}\n    rule:", 1), `4:20: unknown_value: there is no kind "decimel" of column`},
		"value":           {steps(`{at: 0m, rows: [{qty: 0x1F}], expect: {firing: 0}}`), `8:31: row_value: qty: 0x1F is no plain whole number`},
		"float":           {steps(`{at: 0m, rows: [{qty: .inf}], expect: {firing: 0}}`), `8:31: row_value: qty: .inf is no plain number`},
		"json":            {steps(`{at: 0m, rows: [{doc: {a: 0x1F}}], expect: {firing: 0}}`), `8:31: row_value: doc: this cannot be JSON`},
		"folded twice":    {steps(`{at: 0m, rows: [{qty: 1, QTY: 2}], expect: {firing: 0}}`), `8:34: duplicate_field: rows has the column "qty" twice`},
		"a row":           {steps(`{at: 0m, rows: [1], expect: {firing: 0}}`), `8:25: wrong_type: this entry takes a map`},
		"uneven":          {steps(`{at: 0m, rows: [`+negative+`]}`, `{at: 5m, rows: [{wh_id: 119240, bin_code: A-01, sku: S1, qty: "-3"}], expect: {firing: 0}}`), `9:25: row_columns: the row has no wave_no, which the first row of the test has`},
		"another column":  {steps(`{at: 0m, rows: [{bin: 1}, {bin: 1, Bni: 2}], expect: {firing: 0}}`), `8:44: row_columns: the first row of the test has no bni`},
		"mixed table":     {steps(`{at: 0m, tables: {bins: [{qty: 1}, {qty: true}]}, expect: {firing: 0}}`), `8:34: row_value: the column qty holds values of kind int and of kind bool`},
		"mixed texts":     {steps(`{at: 0m, tables: {bins: [{qty: 1}, {qty: many}]}, expect: {firing: 0}}`), `8:34: row_value: the column qty holds texts and values of kind int`},
		"rule":            {strings.Replace(steps(`{at: 0m, rows: [], expect: {firing: 0}}`), "rule: negative-bin", "rule: negative-bins", 1), `4:11: unknown_rule: there is no rule "negative-bins-stock"`},
		"scope":           {strings.Replace(steps(`{at: 0m, rows: [], expect: {firing: 0}}`), "119240", "119242", 1), `5:12: unknown_scope: negative-bin-stock has no scope "119242"`},
		"no scope":        {test("rule: negative-bin-stock", `{at: 0m, rows: [], expect: {firing: 0}}`), `3:5: unknown_scope: negative-bin-stock runs in scopes, and the test names none`},
		"scope too many":  {test("rule: replenish-pick-face\n    scope: \"1\"", `{at: 0m, rows: [], expect: {firing: 0}}`), `5:12: unknown_scope: replenish-pick-face has no scopes`},
		"twice":           {"tests:\n" + strings.Repeat("  - {name: a, rule: replenish-pick-face, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [], expect: {firing: 0}}]}\n", 2), `4:12: test_twice: another test is called "a"`},
		"no tests":        {"tests: []\n", `2:1: no_tests: the file has no tests`},
		"no rules":        {"rules: []\n" + steps(`{at: 0m, rows: [], expect: {firing: 0}}`), `1:8: missing_field: rules names no rule file`},
		"no rule file":    {"rules: nowhere.yaml\n" + steps(`{at: 0m, rows: [], expect: {firing: 0}}`), `testdata/nowhere.yaml: file_unreadable`},
		"syntax":          {"tests: [\n", `yaml_syntax`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines []string
			for _, p := range problems(t, c.src) {
				lines = append(lines, p.Error())
			}
			if !slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, c.want) }) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), c.want)
			}
		})
	}
}

// problems are those of the file, by itself and beside its rules.
func problems(t *testing.T, src string) problem.List {
	t.Helper()
	f, found := parse(t, src)
	if f == nil || len(found) > 0 {
		return found
	}
	r, err := ruletest.Run(t.Context(), []*ruletest.File{f}, ruletest.Options{Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	if r.Passed() {
		t.Error("the tests passed")
	}
	return r.Problems
}

// TestAllProblemsAtOnce: and the sound tests run.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	src := `rules: stock.yaml
tests:
  - {name: one, rule: replenish-pick-face, start: never, steps: [{at: 0m, rows: [], error: x, expect: {firing: 0}}]}
  - {name: two, rule: nonsense, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [], expect: {firing: 0}}]}
  - {name: three, rule: replenish-pick-face, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [], expect: {firing: 0}}]}
`
	f, found := parse(t, src)
	if len(found) != 2 || len(f.Tests) != 2 {
		t.Fatalf("%d tests, %v", len(f.Tests), found)
	}
	r, err := ruletest.Run(t.Context(), []*ruletest.File{f}, ruletest.Options{})
	if err != nil || len(r.Problems) != 1 || r.Tests != 1 || r.Failed != 0 || r.Passed() {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestRulesWithProblems: a rule that does not load is reported with its file, and its test points to that.
func TestRulesWithProblems(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"rules.yaml":  "version: 1\nrules:\n  - id: broken\n    schedul: {}\n",
		"x_test.yaml": "rules: rules.yaml\n" + test("rule: broken", `{at: 0m, rows: [], expect: {firing: 0}}`),
	})
	files, _ := ruletest.Load([]string{dir})
	r, err := ruletest.Run(t.Context(), files, ruletest.Options{})
	if err != nil || !strings.Contains(told(r), "rules.yaml:4:5: unknown_field") || !strings.Contains(told(r), "unknown_rule: the rule broken has problems itself") {
		t.Errorf("%v\n%s", err, told(r))
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	body := "tests: []\n"
	dir := folder(t, map[string]string{
		"rules/stock.yaml": "version: 1\nrules: []\n", "rules/stock_test.yaml": "rules: stock.yaml\n" + body,
		"tests/a.yaml": "rules: ../rules\n" + body, "tests/.hidden.yaml": body, "tests/broken.yaml": "tests: [", "types.yaml": "types: []\n",
		"misspelt.yaml": "rules: [rules]\ntest: []\n",
	})
	files, found := ruletest.Load([]string{dir, dir + "/tests", dir + "/nowhere", dir + "/types.yaml"})
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Path)+fmt.Sprint(len(f.Rules)))
	}
	if got := strings.Join(names, " "); got != "misspelt.yaml1 stock_test.yaml1 a.yaml1" {
		t.Errorf("loaded %s", got)
	}
	var codes []string
	for _, p := range found {
		codes = append(codes, filepath.Base(p.File)+" "+p.Code)
	}
	slices.Sort(codes)
	want := "a.yaml no_tests, broken.yaml yaml_syntax, misspelt.yaml missing_field, misspelt.yaml unknown_field, nowhere file_unreadable, stock_test.yaml no_tests, types.yaml no_tests"
	if got := strings.Join(codes, ", "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := ruletest.RuleFiles([]string{dir, dir + "/rules/stock.yaml"}); len(got) != 1 || filepath.Base(got[0]) != "stock.yaml" {
		t.Errorf("rule files %v", got)
	}
}

// FuzzParse: no input panics or hangs, every problem has a place inside the file, and every valid test runs.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		steps(`{at: 0m, rows: [`+negative+`], expect: {pending: 1, notices: []}}`, `{at: 5m, error: timeout, expect: {health: error}}`),
		steps(`{at: 0m, rows: &a [{wh_id: 1.5, bin_code: null, sku: {a: [1]}, qty: "2026-06-01", wave_no: true}], expect: {firing: 0}}`, `{at: 1d, rows: *a}`),
		test("rule: replenish-pick-face\n    columns: {id: int}", `{at: 0m, tables: {replenishment_need: [{id: 1}]}, expect: {notices: [{key: [1], data: {}}]}}`),
		"tests:\n  - &x {name: a, <<: {rule: b}, steps: [*x]}\n",
	} {
		f.Add("rules: stock.yaml\n" + seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, found := ruletest.Parse("testdata/my_test.yaml", []byte(src))
		lines := strings.Count(src, "\n") + strings.Count(src, "\r") + strings.Count(src, "\u0085") + strings.Count(src, "\u2028") + strings.Count(src, "\u2029") + 1
		for _, p := range found {
			if p.Code == "" || p.Message == "" || p.Line < 0 || p.Line > lines {
				t.Fatalf("%+v", p)
			}
		}
		if file == nil {
			return
		}
		file.Rules, file.Types = []string{"testdata/stock.yaml"}, ""
		// Without a database, so that the fuzzer looks at this package and not at SQLite.
		if _, err := ruletest.Run(t.Context(), []*ruletest.File{file}, ruletest.Options{Cover: true}); err != nil && !strings.Contains(err.Error(), "no database") {
			t.Fatal(err)
		}
	})
}

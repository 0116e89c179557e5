package rules_test

import (
	"encoding/hex"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

const codesPage = "../docs/reference/error-codes.md"

// TestErrorCodesDocument runs the examples of rule files, which are yaml blocks. Their flags:
//
//	columns: qty int, …   what the probe returns, in the place of the page's usual columns
//	row: qty 0, …         judge this row; columns that are not named are NULL
//	path: NAME            load this file in the place of the example
//	repeated: N           the last line of the example comes N times
//	at most: N            so many rules are taken, each scope counted
//	bytes                 \xNN is one byte
//	warnings              the warnings about the rule, those about its SQL by the types of the columns
//	first run: N          its first run would send so many notices
//	began with: JSON      its watermark began with that `initial`, and is at 4711
func TestErrorCodesDocument(t *testing.T) {
	base := codetest.Base(t, codesPage, "base")
	codetest.Part{
		Page: codesPage, Headings: "Rule files: ",
		Codes: codetest.Declared(t, codetest.Constant, "*.go", "*/*.go"),
		Run: func(t *testing.T, e *codetest.Example) string {
			t.Helper()
			b := e.Blocks[0]
			return exampleOutput(t, base, b.Flags, b.Text)
		},
		Update: *update, Command: "go test ./rules -run ErrorCodes",
		Sketch: "```yaml\nan example: a piece of a rule, or a whole file from version: on\n```\n",
	}.Test(t)
}

// exampleOutput is what the check of the example says.
func exampleOutput(t *testing.T, base, flags, text string) string {
	t.Helper()
	columns := "wh_id int, bin_code text, sku text, qty decimal, changed_at time"
	flag, value, _ := strings.Cut(flags, ": ")
	src := text
	switch {
	case strings.HasPrefix(text, "types:"):
		_, l := catalog.Parse("types.yaml", []byte(text))
		return shown(l)
	case flag == "path":
		return shown(rules.Load([]string{value}).Problems)
	case flag == "columns":
		columns = value
	case flag == "repeated":
		lines := strings.SplitAfter(text, "\n")
		src += strings.Repeat(lines[len(lines)-2], number(t, value)-1)
	case flag == "bytes":
		src = regexp.MustCompile(`\\x..`).ReplaceAllStringFunc(text, func(s string) string {
			var b [1]byte
			if _, err := hex.Decode(b[:], []byte(s[2:])); err != nil {
				t.Fatal(err)
			}
			return string(b[:])
		})
	}
	if !strings.HasPrefix(src, "version:") {
		src = base + "    " + strings.ReplaceAll(strings.TrimSpace(src), "\n", "\n    ") + "\n"
	}
	known := site
	known.Types = siteTypes(t)
	set := rules.LoadFile("rule.yaml", []byte(src))
	if flag == "at most" {
		set = rules.LoadAtMost(number(t, value), "rule.yaml", []byte(src))
	}
	rules.Check(set, known)
	found := set.Problems
	for _, r := range set.Rules {
		p, l := rules.Compile(r, columnsOf(t, columns), known.Types)
		found = append(found, l...)
		if flag == "warnings" {
			list := append(rules.Lint(r), rules.LintColumns(r, columnsOf(t, columns))...)
			found = append(found, rules.Tidy(append(list, rules.LintSQL(r, typeIn(columnsOf(t, columns)))...))...)
		}
		if flag == "began with" {
			found = append(found, rules.LintInitial(r, value, []row.Value{row.IntOf(4711)})...)
		}
		if flag == "first run" {
			found = append(found, rules.LintFirstRun(r, number(t, value))...)
		}
		if flag == "row" {
			return judged(t, p, columnsOf(t, columns), value)
		}
	}
	return shown(found)
}

// typeIn answers questions for the type of a column.
func typeIn(columns []row.Column) func([]string) *row.Column {
	return func(questions []string) *row.Column {
		name, _, _ := strings.Cut(strings.TrimPrefix(questions[0], "SELECT "), " AS "+probe.Asked)
		at := row.Index(columns, name)
		if at < 0 {
			return nil
		}
		col := columns[at]
		col.DBType = col.Kind.String()
		return &col
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// shown is what `tallyman rules check` prints.
func shown(l problem.List) string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

// judged is the error of a row with one number in it, as the samples of a run show it.
func judged(t *testing.T, p *rules.Program, columns []row.Column, value string) string {
	t.Helper()
	name, number, _ := strings.Cut(value, " ")
	v, err := row.ParseDecimal(number)
	if err != nil {
		t.Fatal(err)
	}
	r := row.New(columns)
	r.Values[r.Index(name)] = v
	_, err = p.Match(r)
	for _, e := range condition.Errors(err) {
		return string(e.Code) + ": " + e.Message + "\n"
	}
	t.Fatalf("the row is judged without an error: %v", err)
	return ""
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

package ruletest_test

import (
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
)

// kindsRule is a rule with the condition and fields, over columns that its tests give.
func kindsRule(t *testing.T, when, fields, steps string) *ruletest.Report {
	t.Helper()
	dir := folder(t, map[string]string{
		"rules.yaml": `version: 1
rules:
  - id: kinds
    schedule: {cron: "* * * * *"}
    source: wms
    probe: {sql: SELECT * FROM t}
    when: ` + when + `
    key: [id]
    notice: {type: ANY, warehouse: "'1'", title: "{{ .id }}", fields: ` + fields + `}
    deliver: [{sink: inbox}]
`,
		"a_test.yaml": "rules: rules.yaml\ntests:\n  - name: it\n    rule: kinds\n    start: 2026-06-01T00:00:00Z\n    " + steps + "\n",
	})
	files, problems := ruletest.Load([]string{dir})
	if len(problems) > 0 {
		t.Fatal(problems[0].String())
	}
	r, err := ruletest.Run(t.Context(), files, ruletest.Options{Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestKindsOfColumns: a written value gets the kind that the rule needs, and is a text where the rule needs none.
func TestKindsOfColumns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ when, fields, steps string }{
		"numerals that are compared": {
			"qty < 0", "{qty: qty}",
			`steps: [{at: 0m, rows: [{id: 1, qty: "-3.50"}, {id: 2, qty: "10"}, {id: 3, qty: "9"}], expect: {matched: 1, notices: [{data: {qty: "-3.50"}}]}}]`,
		},
		"numerals that are only shown": {
			"true", "{a: qty, b: bin}",
			`steps: [{at: 0m, rows: [{id: "7", qty: "-3.50", bin: "007"}], expect: {notices: [{key: '["7"]', data: {a: "-3.50", b: "007"}}]}}]`,
		},
		"numerals of two columns": {
			"abs(a - b) > 1 and sku matches '^[0-9]+$'", "{}",
			`steps: [{at: 0m, rows: [{id: 1, a: "1.5", b: "3", sku: "12"}, {id: 2, a: "1.5", b: "2", sku: "12"}], expect: {matched: 1}}]`,
		},
		"numbers with and without quotes": {
			"qty > 1", "{}",
			`steps: [{at: 0m, rows: [{id: 1, qty: 2}, {id: 2, qty: "1.5"}, {id: 3, qty: 0.5}, {id: 4, qty: null}], expect: {matched: 2}}]`,
		},
		"times in quotes": {
			"now() - at >= duration('15m')", "{at: at}",
			`steps: [{at: 15m, rows: [{id: 1, at: "2026-06-01 00:00:00"}, {id: 2, at: "2026-06-01T00:00:01Z"}], expect: {matched: 1, notices: [{data: {at: 2026-06-01T02:00:00+02:00}}]}}]`,
		},
		"dates": {
			"day < date('2026-06-02') and day.Day() == 1", "{}",
			`steps: [{at: 0m, rows: [{id: 1, day: 2026-06-01}, {id: 2, day: "2026-06-03"}], expect: {matched: 1}}]`,
		},
		"dates beside times": {
			"at > date('2026-06-01')", "{}",
			`steps: [{at: 0m, rows: [{id: 1, at: 2026-06-01}, {id: 2, at: 2026-06-01T00:00:01Z}], expect: {matched: 1}}]`,
		},
		"JSON, bool, NULL": {
			"doc.lines[0].qty < 0 and ok and gone == nil", "{}",
			`steps: [{at: 0m, rows: [{id: 1, doc: {lines: [{qty: -1.50}]}, ok: true, gone: null}, {id: 2, doc: [], ok: true, gone: null}], expect: {matched: 1}}]`,
		},
		"said by the author": {
			"qty > 10", "{day: day}",
			`columns: {qty: int, day: date, span: duration, raw: bytes, doc: json, f: float, t: text}
    steps: [{at: 0m, rows: [{id: 1, qty: "11", day: 2026-06-01T10:00:00Z, span: 1h30m, raw: 01ff, doc: '{"a": 1}', f: 1.5, t: "5"}], expect: {matched: 1, notices: [{data: {day: 2026-06-01T00:00:00Z}}]}}]`,
		},
		"no rows in any step": {
			"now() - at > duration('1h') and qty * 2 > 1 and (name ?? '') startsWith 'A' and ok", "{at: at, qty: qty}",
			`steps: [{at: 0m, rows: [], expect: {rows: 0, firing: 0}}]`,
		},
		"a column that a row does not fill": {
			"price / qty > 1 or lower(name) == 'x'", "{}",
			`steps: [{at: 0m, rows: [{id: 1, price: null, qty: null, name: null}], expect: {matched: 0, rows: 1}}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passes(t, kindsRule(t, c.when, c.fields, c.steps))
		})
	}
}

// TestRowsThatDoNotFit: a test whose rows the rule cannot run on fails, and says what to do.
func TestRowsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ when, steps, want string }{
		"a column that is missing": {
			"qty < 0", `steps: [{at: 0m, rows: [{id: 1, qtty: 3}], expect: {matched: 0}}]`,
			`did you mean "qtty"?; the rows of the test have to have every column that the rule uses`,
		},
		"a text that is calculated with": {
			"qty * 2 < 0", `steps: [{at: 0m, rows: [{id: 1, qty: many}], expect: {matched: 0}}]`,
			`where the kind of a column is not that of the database, say it in the test: columns: {qty: decimal}`,
		},
		"a value that is not what the author says": {
			"qty < 0", "columns: {qty: decimal}\n    " + `steps: [{at: 0m, rows: [{id: 1, qty: many}], expect: {matched: 0}}]`,
			`row_value: qty: many is a value of kind text, the column is decimal`,
		},
		"a number in a text column": {
			"bin == 'A'", `steps: [{at: 0m, rows: [{id: 1, bin: A}, {id: 1, bin: 7}], expect: {matched: 0}}]`,
			`row_value: bin: 7 is a value of kind int, the column is text`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := kindsRule(t, c.when, "{}", c.steps)
			if r.Failed != 1 || !strings.Contains(told(r), c.want) {
				t.Errorf("got\n%s", told(r))
			}
		})
	}
}

package app

import (
	"errors"
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/scanners"
)

// What a source says stands where it points at, or else at the word that it quotes.
func TestSQLProblemsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	const sql = "SELECT bin, qtty AS qty FROM \"Odd Bins\" WHERE wh = :warehouse"
	set := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - id: example
    schedule: {cron: "@hourly"}
    source: wms
    probe:
      sql: |
        `+sql+`
      params: {warehouse: 1}
    key: [bin]
    notice: {type: A, warehouse: "'w'", title: Look}
    deliver: [{sink: inbox}]
`))
	if len(set.Problems) > 0 {
		t.Fatal(set.Problems)
	}
	for message, word := range map[string]string{
		`no such column: qtty`:                               "qtty",
		`Unknown column 'b.qtty' in 'field list'`:            "qtty",
		`relation "odd bins" does not exist`:                 `"Odd Bins"`,
		"near \"WHERE\": syntax error":                       "WHERE",
		"parameter :warehouse cannot be read: invalid input": ":warehouse",
		"something else":                                     "SELECT",
	} {
		p := sqlProblem(set.Rules[0], &scanners.Error{Code: scanners.CodeStatement, Err: errors.New(message)})
		if want := strings.Index(sql, word) + 9; p.Line != 8 || p.Col != want {
			t.Errorf("%s: stands at %d:%d, want 8:%d", message, p.Line, p.Col, want)
		}
	}
	p := sqlProblem(set.Rules[0], &scanners.Error{Code: scanners.CodeStatement, At: 8, Err: errors.New(`wrong (line 1 of the probe) [42]`)})
	if p.Col != 16 || p.Message != "wrong [42]" {
		t.Errorf("with a place: %s", p.Error())
	}
}

package rules_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
)

// positioned makes a rule whose watermark has columns of the kinds, each with its initial value.
func positioned(t *testing.T, initial string, columns ...row.Column) *rules.Program {
	t.Helper()
	var names, values, marks []string
	for _, c := range columns {
		names, values, marks = append(names, c.Name), append(values, c.Name+": "+initial), append(marks, ":wm_"+c.Name)
	}
	s := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - id: a
    mode: event
    schedule: {cron: "@hourly"}
    source: wms
    probe:
      sql: SELECT * FROM s WHERE (`+strings.Join(names, ", ")+") > ("+strings.Join(marks, ", ")+`)
      watermark: {columns: [`+strings.Join(names, ", ")+"], initial: {"+strings.Join(values, ", ")+`}}
    key: [`+names[0]+`]
    notice: {type: T, warehouse: "'1'", title: x}
    deliver: [{sink: inbox}]
`))
	if err := s.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	p, problems := rules.Compile(s.Rules[0], columns, catalog.Catalog{"T": {Code: "T", ID: 1, Name: "T", Retention: time.Hour}})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPosition(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		kind    row.Kind
		initial string
		text    string
		want    string // Empty: an error that says what is expected.
		expects string
	}{
		{row.Int, "0", "4711", "int 4711", ""},
		{row.Int, "0", "-4", "int -4", ""},
		{row.Int, "0", "4711.5", "", "a whole number"},
		{row.Int, "0", "-12h", "", "a whole number"},
		{row.Int, "0", "", "", "a whole number"},
		{row.Decimal, `"0"`, "1.50", "decimal 1.50", ""},
		{row.Decimal, `"0"`, "one", "", "a number"},
		{row.Float, "0", "1.5", "float 1.5", ""},
		{row.Text, `""`, "20261101,a", "text 20261101,a", ""},
		{row.Text, `""`, "-12h", "", "a text as the column has it"},
		{row.Time, `"-1h"`, "2026-11-01T00:00:00.5+08:00", "time 2026-10-31T16:00:00.5Z", ""},
		{row.Time, `"-1h"`, "2026-11-01", "time 2026-11-01T00:00:00Z", ""},
		{row.Time, `"-1h"`, "-12h", "time 2026-11-02T00:00:00Z", ""},
		{row.Time, `"-1h"`, "12h", "", "as -12h"},
		{row.Time, `"-1h"`, "4711", "", "2026-06-01T00:00:00Z"},
		{row.Date, `"-1h"`, "2026-11-01", "time 2026-11-01T00:00:00Z", ""},
	} {
		got, err := positioned(t, c.initial, row.Column{Name: "at", Kind: c.kind}).Position([]string{c.text}, now)
		if c.want == "" {
			var wrong *rules.PositionError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.expects) {
				t.Errorf("%s %q: %v, %v, want the hint %q", c.kind, c.text, got, err, c.expects)
			}
			continue
		}
		if err != nil || got[0].Kind().String()+" "+got[0].String() != c.want {
			t.Errorf("%s %q: %v, %v, want %s", c.kind, c.text, got, err, c.want)
		}
	}
}

func TestPositionOfSeveralColumns(t *testing.T) {
	t.Parallel()
	p := positioned(t, `"0"`, row.Column{Name: "area", Kind: row.Text}, row.Column{Name: "id", Kind: row.Decimal})
	for _, texts := range [][]string{{"B,4711"}, {"B", "4711"}} {
		got, err := p.Position(texts, time.Time{})
		if err != nil || got[0].String() != "B" || got[1].String() != "4711" {
			t.Errorf("%q: %v, %v", texts, got, err)
		}
	}
	for _, texts := range [][]string{{"B"}, {"B,1,2"}, {"B", "1", "2"}, nil} {
		if _, err := p.Position(texts, time.Time{}); err == nil || !strings.Contains(err.Error(), "area,id") {
			t.Errorf("%q: %v", texts, err)
		}
	}
	if got, err := p.Position([]string{"a,b", "7"}, time.Time{}); err != nil || got[0].String() != "a,b" {
		t.Errorf("%v, %v", got, err)
	}
}

package rules_test

import (
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/row"
)

// TestOrderOfANotice: a number with three digits, a time as its ms, the lowest of a group, and nothing for NULL.
func TestOrderOfANotice(t *testing.T) {
	notice := func(order string) string {
		return `{type: T, warehouse: wh_id, title: x, order: ` + order + `, fields: {bin: bin_code}}`
	}
	for _, c := range []struct {
		order, others string
		rows          []*row.Row
		want          string
	}{
		{"7.25", "", bins(-300), "7.25"},
		{`"2026-05-01T14:00:00Z"`, "", bins(-300), "1777644000000"},
		{"qty", "", bins(-1234), "-12.34"},
		{"qty / 7", "", bins(100), "0.142"},
		{"qty", "    group_by: [wh_id]", bins(-300, -1100, -200), "-11"},
		{"-qty", "    group_by: [wh_id]", bins(-300, -1100, -200), "2"},
		{"changed_at", "", bins(0), "1780351800000"},
		{`"qty < 0 ? nil : qty"`, "", bins(-300), ""},
	} {
		p := compile(t, notice(c.order), c.others)
		if d, err := p.DraftGroup(c.rows); err != nil || d.Order != c.want {
			t.Errorf("%s: %+v, %v; want %q", c.order, d, err, c.want)
		}
	}
	if d, err := compile(t, `{type: T, warehouse: wh_id, title: x, fields: {bin: bin_code}}`, "").Draft(bins(1)[0]); err != nil || d.Order != "" {
		t.Errorf("without an order: %+v, %v", d, err)
	}
	p := compile(t, `{type: T, warehouse: "'W1'", title: x, order: row_count, fields: {bin: "find(rows, .qty < 0).bin_code ?? 'none'"}}`, "    per: result\n    when: row_count > 0")
	if d, err := p.DraftResult(bins(-300, -200)); err != nil || d.Order != "2" {
		t.Errorf("of a result: %+v, %v", d, err)
	}
	p = compile(t, notice("qty * 1000000000000"), "")
	if _, err := p.Draft(bins(500)[0]); err == nil || !strings.HasPrefix(err.Error(), "the order 5000000000000") {
		t.Errorf("out of bounds: %v", err)
	}
}

func TestOrderThatCannotBeOne(t *testing.T) {
	s := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - id: a
    schedule: {cron: "@hourly", timezone: Asia/Shanghai}
    source: wms
    probe: {sql: "SELECT * FROM bin_stock"}
    key: [wh_id, bin_code, qty, day]
    deliver: [{sink: inbox}]
    notice: {type: T, warehouse: wh_id, title: x, order: bin_code, fields: {bin: bin_code}}
`))
	if err := s.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	_, problems := rules.Compile(s.Rules[0], stock, types)
	if len(problems) != 1 || problems[0].Code != rules.CodeExprKind || problems[0].Line != 9 {
		t.Errorf("%v", problems)
	}
}

package rules_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallyman/rules"
	"tallyman/rules/row"
)

// bins are rows of one warehouse with these quantities, in hundredths.
func bins(hundredths ...int64) []*row.Row {
	var rows []*row.Row
	for i, n := range hundredths {
		r := stockRow()
		r.Values[1], r.Values[3] = row.TextOf(fmt.Sprintf("A-%02d", i+1)), row.DecimalOf(n, 2)
		rows = append(rows, r)
	}
	return rows
}

func TestDraftGroup(t *testing.T) {
	p := compile(t, `{type: T, warehouse: wh_id, title: "{{ .row_count }} bins of {{ .sku }}",
      body: {en: "{{ range .rows }}{{ .bin_code }}: {{ .qty }}\n{{ end }}", zh: "{{ range $i, $r := .rows }}{{ if $i }}、{{ end }}{{ $r.bin_code }}{{ end }}"},
      priority: "qty < -100 ? 5 : qty < -10 ? 4 : 2", fields: {bin: bin_code, qty: qty}}`, "    group_by: [wh_id, sku]")
	rows := bins(-300, -1100, -200)
	d, err := p.DraftGroup(rows)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]rules.Text{
		"":   {Title: "3 bins of S1", Body: "A-01: -3.00\nA-02: -11.00\nA-03: -2.00"},
		"en": {Title: "3 bins of S1", Body: "A-01: -3.00\nA-02: -11.00\nA-03: -2.00"},
		"zh": {Title: "3 bins of S1", Body: "A-01、A-02、A-03"},
	}
	if diff := cmp.Diff(want, d.Texts); diff != "" {
		t.Error(diff)
	}
	if d.Warehouse != "119240" || d.Priority != 4 {
		t.Errorf("warehouse %s, priority %d", d.Warehouse, d.Priority)
	}
	if got := d.Fields[0].Value.String() + " " + d.Fields[1].Value.String(); got != "A-01 -3.00" {
		t.Errorf("fields of another row than the first: %s", got)
	}
	if one, err := p.Draft(rows[1]); err != nil || one.Texts[""].Title != "1 bins of S1" || one.Priority != 4 {
		t.Errorf("a row alone: %+v, %v", one, err)
	}
	if got, key := p.Group(rows[0]), p.Key(rows[0]); got != `[119240,"S1"]` || key != `[119240,"A-01",-3,"2026-06-01"]` {
		t.Errorf("group %s, key %s", got, key)
	}
	rows[2].Values[2] = row.TextOf("S1  ") // the padding of CHAR
	if p.Group(rows[2]) != p.Group(rows[0]) {
		t.Errorf("%s is another group than %s", p.Group(rows[2]), p.Group(rows[0]))
	}
	if got := compile(t, `{type: T, warehouse: wh_id, title: x, fields: {bin: bin_code}}`, "").Group(rows[0]); got != "" {
		t.Errorf("a rule without groups: %q", got)
	}
}

func TestDraftGroupWhosePriorityFailsIsAnError(t *testing.T) {
	p := compile(t, `{type: T, warehouse: wh_id, title: x, priority: 100 / qty, fields: {bin: bin_code}}`, "    group_by: [wh_id]")
	if _, err := p.DraftGroup(bins(100, 0)); err == nil || err.Error() != "priority: division by zero" {
		t.Error(err)
	}
}

func TestResult(t *testing.T) {
	p := compile(t, `{type: T, warehouse: "string(rows[0].wh_id) ?? 'W0'", title: "{{ .row_count }} bins", body: "{{ range .rows }}{{ .bin_code }} {{ else }}none{{ end }}",
      priority: "row_count > 2 ? 5 : 3", fields: {bin: "find(rows, .qty < -10).bin_code ?? 'none'", qty: "sum(rows, .qty)", n: row_count}}`,
		"    per: result\n    when: sum(rows, .qty) < -13.99 or row_count == 0")
	for _, c := range []struct {
		rows []*row.Row
		met  bool
		want string
	}{
		{bins(-300, -1099), false, "3 119240 A-02 2 -13.99 | 2 bins | A-01 A-02"},
		{bins(-300, -1100), true, "3 119240 A-02 2 -14.00 | 2 bins | A-01 A-02"},
		{bins(-300, -1100, 1), false, "5 119240 A-02 3 -13.99 | 3 bins | A-01 A-02 A-03"},
		{nil, true, "3 W0 none 0  | 0 bins | none"},
	} {
		met, err := p.MatchResult(c.rows)
		if err != nil || met != c.met {
			t.Errorf("%s: %v, %v", c.want, met, err)
		}
		priority, err := p.PriorityResult(c.rows)
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.DraftResult(c.rows)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%d %s", priority, d.Warehouse)
		for _, f := range d.Fields {
			got += " " + f.Value.String()
		}
		if got += " | " + d.Texts[""].Title + " | " + d.Texts[""].Body; got != c.want || d.Priority != priority {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := p.Key(nil); got != "[]" {
		t.Errorf("key %s", got)
	}
}

// Without fields the data of a result is that of its first row, as far as it has one.
func TestResultDefaultFields(t *testing.T) {
	columns := append([]row.Column{{Name: "bin", Kind: row.Text}}, stock...)
	s := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - {id: a, schedule: {cron: "@hourly"}, source: wms, probe: {sql: SELECT 1 AS n}, per: result, deliver: [{sink: inbox}], scopes: [{name: W1}],
     notice: {type: T, title: x}}
`))
	p, problems := rules.Compile(s.Rules[0], columns, types)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	r := row.New(columns)
	r.Values[0] = row.TextOf("B")
	if d, err := p.DraftResult([]*row.Row{r, row.New(columns)}); err != nil || d.Fields[0].Value.Text() != "B" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := p.DraftResult(nil); err == nil || err.Error() != "field bin: is NULL, but the type requires it" {
		t.Errorf("no rows: %v", err)
	}
}

// Clones of a rule that groups or judges results share nothing that rendering changes.
func TestClonesOfGroupsAreIndependent(t *testing.T) {
	group := compile(t, `{type: T, warehouse: wh_id, title: "{{ range .rows }}{{ .qty }} {{ end }}", fields: {bin: bin_code}}`, "    group_by: [wh_id]")
	result := compile(t, `{type: T, warehouse: "'W'", title: "{{ range .rows }}{{ .qty }} {{ end }}", fields: {bin: "rows[0].bin_code"}}`, "    per: result\n    when: any(rows, let q = .qty; count(rows, .qty == q) == 1)")
	done := make(chan error)
	for n := range int64(4) {
		go func() {
			g, r := group.Clone(), result.Clone()
			rows, want := bins(n, -n-1), fmt.Sprintf("0.0%d -0.0%d", n, n+1)
			for range 200 {
				a, err := g.DraftGroup(rows)
				b, err2 := r.DraftResult(rows)
				met, err3 := r.MatchResult(rows)
				if err != nil || err2 != nil || err3 != nil || !met || a.Texts[""].Title != want || b.Texts[""].Title != want {
					done <- fmt.Errorf("clone %d: %+v, %+v, %v, %w %w %w", n, a, b, met, err, err2, err3)
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

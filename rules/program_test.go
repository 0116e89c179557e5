package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
)

var stock = []row.Column{
	{Name: "wh_id", Kind: row.Int},
	{Name: "bin_code", Kind: row.Text},
	{Name: "sku", Kind: row.Text},
	{Name: "qty", Kind: row.Decimal},
	{Name: "changed_at", Kind: row.Time},
	{Name: "day", Kind: row.Date},
	{Name: "closed", Kind: row.Bool},
	{Name: "weight", Kind: row.Float},
}

var changed = time.Date(2026, 6, 1, 22, 10, 0, 0, time.UTC)

func stockRow() *row.Row {
	r := row.New(stock)
	copy(r.Values, []row.Value{
		row.IntOf(119240), row.TextOf("A-01"), row.TextOf("S1"), row.DecimalOf(-300, 2), row.TimeOf(changed), row.DateOf(changed), row.BoolOf(true), row.FloatOf(0.1),
	})
	return r
}

var types = catalog.Catalog{"T": {
	Code: "T", ID: 1, Name: "T", Retention: 72 * time.Hour, Fields: map[string]catalog.Field{
		"sku": {Type: catalog.String}, "qty": {Type: catalog.Decimal}, "bin": {Type: catalog.String, Required: true}, "n": {Type: catalog.Int},
		"ok": {Type: catalog.Bool}, "at": {Type: catalog.Time}, "w": {Type: catalog.Decimal},
	},
}}

// compile makes a program of a rule whose notice and other fields are given as YAML.
func compile(t *testing.T, notice, others string) *rules.Program {
	t.Helper()
	key := "    key: [wh_id, bin_code, qty, day]\n"
	if strings.Contains(others, "per: result") {
		key = ""
	}
	src := fmt.Sprintf(`version: 1
rules:
  - id: a
    schedule: {cron: "@hourly", timezone: Asia/Shanghai}
    source: wms
    probe: {sql: "SELECT * FROM bin_stock"}
%s    deliver: [{sink: inbox}]
    notice: %s
%s`, key, notice, others)
	s := rules.LoadFile("f.yaml", []byte(src))
	if err := s.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	p, problems := rules.Compile(s.Rules[0], stock, types)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDraft(t *testing.T) {
	p := compile(t, `{type: T, warehouse: wh_id, title: "Bin {{ .bin_code }}\n is at {{ .qty }}", body: "{{ .sku }} since {{ .changed_at | date \"YYYY-MM-DD HH:mm\" }}\n",
      priority: "qty < -2.99 ? 5 : 1", modal: popup, expires: 1h, fields: {bin: bin_code, sku: wh_id, qty: qty, n: 1 + 1, ok: closed, at: day, w: weight}}`, "")
	d, err := p.Draft(stockRow())
	if err != nil {
		t.Fatal(err)
	}
	type told struct {
		Warehouse string
		Priority  int
		Modal     rules.Modal
		Texts     map[string]rules.Text
		Expires   time.Duration
	}
	want := told{"119240", 5, rules.ModalPopup, map[string]rules.Text{"": {Title: "Bin A-01 is at -3.00", Body: "S1 since 2026-06-02 06:10"}}, time.Hour}
	if diff := cmp.Diff(want, told{d.Warehouse, d.Priority, d.Modal, d.Texts, d.Expires}); diff != "" {
		t.Error(diff)
	}
	var fields []string
	for _, f := range d.Fields {
		fields = append(fields, fmt.Sprintf("%s=%s(%s)", f.Name, f.Value, f.Value.Kind()))
	}
	if got, want := strings.Join(fields, " "), "at=2026-06-01T00:00:00Z(time) bin=A-01(text) n=2(int) ok=true(bool) qty=-3.00(decimal) sku=119240(text) w=0.1(decimal)"; got != want {
		t.Errorf("fields\n%s\n%s", got, want)
	}
	if got := p.Key(stockRow()); got != `[119240,"A-01",-3,"2026-06-01"]` {
		t.Errorf("key %s", got)
	}
}

func TestDraftDefaults(t *testing.T) {
	p := compile(t, `{type: T, title: {zh: 二, de: eins}, body: {zh: 三}, fields: {bin: bin_code}}`, `    scopes: [{name: "119241"}]`)
	d, err := p.Draft(stockRow())
	if err != nil {
		t.Fatal(err)
	}
	if d.Warehouse != "119241" || d.Priority != 3 || d.Modal != rules.ModalSilent || d.Expires != 72*time.Hour {
		t.Errorf("%+v", d)
	}
	want := map[string]rules.Text{"": {Title: "eins", Body: "三"}, "de": {Title: "eins", Body: "三"}, "zh": {Title: "二", Body: "三"}}
	if diff := cmp.Diff(want, d.Texts); diff != "" {
		t.Error(diff)
	}
	if ok, err := p.Match(stockRow()); !ok || err != nil {
		t.Errorf("without when: %v, %v", ok, err)
	}
	if p.Watermark(stockRow()) != nil || p.InitialWatermark(changed) != nil {
		t.Error("a watermark from nowhere")
	}
}

// Without fields the data is what the type names and the probe returns.
func TestDefaultFields(t *testing.T) {
	columns := append([]row.Column{{Name: "bin", Kind: row.Text}}, stock...)
	s := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - {id: a, schedule: {cron: "@hourly"}, source: wms, probe: {sql: SELECT 1 AS n}, key: [bin], deliver: [{sink: inbox}],
     notice: {type: T, warehouse: "'W1'", title: x}}
`))
	p, problems := rules.Compile(s.Rules[0], columns, types)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	r := row.New(columns)
	r.Values[0] = row.TextOf("B")
	d, err := p.Draft(r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range d.Fields {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "bin qty sku" || d.Warehouse != "W1" {
		t.Errorf("fields %s, warehouse %s", got, d.Warehouse)
	}
}

func TestRowsThatMakeNoNotice(t *testing.T) {
	const fields = `fields: {bin: bin_code, w: weight}`
	for name, c := range map[string]struct {
		notice string
		column int
		value  row.Value
		want   string
	}{
		"required is NULL":     {`{type: T, warehouse: wh_id, title: x, ` + fields + `}`, 1, row.Value{}, "field bin: is NULL, but the type requires it"},
		"warehouse is NULL":    {`{type: T, warehouse: sku, title: x, ` + fields + `}`, 2, row.Value{}, `warehouse: "" cannot name a warehouse`},
		"warehouse is no name": {`{type: T, warehouse: sku, title: x, ` + fields + `}`, 2, row.TextOf("hall 7"), `warehouse: "hall 7" cannot name a warehouse`},
		"priority is NULL":     {`{type: T, warehouse: wh_id, title: x, priority: qty, ` + fields + `}`, 3, row.Value{}, "priority: is NULL"},
		"no decimal":           {`{type: T, warehouse: wh_id, title: x, ` + fields + `}`, 7, row.FloatOf(inf()), "field w: is Infinity, which is no decimal"},
	} {
		t.Run(name, func(t *testing.T) {
			p := compile(t, c.notice, "")
			r := stockRow()
			r.Values[c.column] = c.value
			_, err := p.Draft(r)
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func inf() float64 {
	zero := 0.0
	return 1 / zero
}

func TestWarehouseOfAnyKind(t *testing.T) {
	p := compile(t, `{type: T, warehouse: qty, title: x, fields: {bin: bin_code}}`, "")
	r := stockRow()
	r.Values[3] = row.DecimalOf(11924000, 2)
	if d, err := p.Draft(r); err != nil || d.Warehouse != "119240" {
		t.Errorf("a decimal: %+v, %v", d, err)
	}
	p = compile(t, `{type: T, warehouse: sku, title: x, fields: {bin: bin_code}}`, "")
	r.Values[2] = row.TextOf("W7   ")
	if d, err := p.Draft(r); err != nil || d.Warehouse != "W7" {
		t.Errorf("a padded text: %+v, %v", d, err)
	}
}

func TestPriorityIsClamped(t *testing.T) {
	p := compile(t, `{type: T, warehouse: wh_id, title: x, priority: qty, fields: {bin: bin_code}}`, "")
	for s, want := range map[string]int{"-7": 1, "0": 1, "1.9": 1, "2": 2, "4.99": 4, "5": 5, "1000000000000000000000": 5} {
		r := stockRow()
		v, err := row.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		r.Values[3] = v
		if got, err := p.Priority(r); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", s, got, err, want)
		}
	}
}

func TestWatermark(t *testing.T) {
	s := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - id: a
    mode: event
    schedule: {cron: "@hourly"}
    source: wms
    probe:
      sql: SELECT * FROM s WHERE (changed_at, wh_id, qty, day, sku) > (:wm_changed_at, :wm_wh_id, :wm_qty, :wm_day, :wm_sku)
      watermark: {columns: [changed_at, wh_id, qty, day, sku], initial: {changed_at: "-1h", wh_id: 0, qty: "1.50", day: 2026-06-01, sku: ""}}
    key: [sku]
    notice: {type: T, warehouse: wh_id, title: x, fields: {bin: bin_code}}
    deliver: [{sink: inbox}]
`))
	if err := s.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	p, problems := rules.Compile(s.Rules[0], stock, types)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	show := func(values []row.Value) string {
		var all []string
		for _, v := range values {
			all = append(all, v.Kind().String()+" "+v.String())
		}
		return strings.Join(all, ", ")
	}
	if got, want := show(p.InitialWatermark(changed)), "time 2026-06-01T21:10:00Z, int 0, decimal 1.50, time 2026-06-01T00:00:00Z, text "; got != want {
		t.Errorf("initial %s", got)
	}
	r := stockRow()
	if got, want := show(p.Watermark(r)), "time 2026-06-01T22:10:00Z, int 119240, decimal -3.00, date 2026-06-01, text S1"; got != want {
		t.Errorf("values %s", got)
	}
}

func TestNowIsTheFiringsTime(t *testing.T) {
	p := compile(t, `{type: T, warehouse: wh_id, title: x, priority: "now() - changed_at > duration('1h') ? 5 : 2", fields: {bin: bin_code}}`,
		`    when: now() - changed_at >= duration("10m")`)
	for ago, want := range map[time.Duration]int{0: 0, 10 * time.Minute: 2, 2 * time.Hour: 5} {
		p.SetNow(changed.Add(ago))
		ok, err := p.Match(stockRow())
		if err != nil || ok != (want > 0) {
			t.Errorf("%v: %v, %v", ago, ok, err)
		}
		if got, err := p.Priority(stockRow()); ok && (got != want || err != nil) {
			t.Errorf("%v: priority %d, %v", ago, got, err)
		}
	}
}

// A clone renders its own row while the program renders another.
func TestCloneIsIndependent(t *testing.T) {
	p := compile(t, `{type: T, warehouse: wh_id, title: "{{ .sku }}", priority: wh_id, fields: {bin: bin_code}}`, "    when: wh_id > 0")
	done := make(chan error)
	for n := range 4 {
		go func() {
			c, r := p.Clone(), stockRow()
			r.Values[2] = row.TextOf(fmt.Sprint(n))
			for range 200 {
				d, err := c.Draft(r)
				if err == nil && d.Texts[""].Title != fmt.Sprint(n) {
					err = fmt.Errorf("clone %d says %q", n, d.Texts[""].Title)
				}
				if ok, e := c.Match(r); err == nil && (!ok || e != nil) {
					err = fmt.Errorf("clone %d: %v, %w", n, ok, e)
				}
				if err != nil {
					done <- err
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

func TestMatchDoesNotAllocate(t *testing.T) {
	p := compile(t, `{type: T, warehouse: wh_id, title: x, fields: {bin: bin_code}}`, `    when: qty < -5 and not (sku startsWith "TEST-")`)
	r := stockRow()
	if n := testing.AllocsPerRun(1000, func() {
		if ok, err := p.Match(r); ok || err != nil {
			t.Fatal(ok, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a row that does not match", n)
	}
}

func BenchmarkMatch(b *testing.B) {
	bench(b, func(p *rules.Program, r *row.Row) error { _, err := p.Match(r); return err })
}

func BenchmarkKey(b *testing.B) {
	bench(b, func(p *rules.Program, r *row.Row) error { p.Key(r); return nil })
}

func BenchmarkDraft(b *testing.B) {
	bench(b, func(p *rules.Program, r *row.Row) error { _, err := p.Draft(r); return err })
}

func bench(b *testing.B, do func(*rules.Program, *row.Row) error) {
	b.Helper()
	s := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - {id: a, schedule: {cron: "@hourly"}, source: wms, probe: {sql: SELECT 1 AS n}, key: [wh_id, bin_code, sku], deliver: [{sink: inbox}], when: qty < -5,
     notice: {type: T, warehouse: wh_id, title: "Bin {{ .bin_code }} is at {{ .qty }}", body: "{{ .sku }} in {{ .bin_code }} went to {{ .qty }}.",
       fields: {bin: bin_code, sku: sku, qty: qty}}}
`))
	p, problems := rules.Compile(s.Rules[0], stock, types)
	if err := problems.Err(); err != nil {
		b.Fatal(err)
	}
	r := stockRow()
	b.ReportAllocs()
	for b.Loop() {
		if err := do(p, r); err != nil {
			b.Fatal(err)
		}
	}
}

package judge

import (
	"fmt"
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// eight is the due time of the passes.
var eight = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// benchPass is a pass of a rule whose findings each have a bin, an article and a quantity.
func benchPass(tb testing.TB) *Pass {
	tb.Helper()
	columns := []row.Column{{Name: "bin_code", Kind: row.Text}, {Name: "sku", Kind: row.Text}, {Name: "qty", Kind: row.Int}}
	r := &rules.Rule{
		ID: "negative-bin-stock", Mode: rules.ModeState, When: "qty < 0", Key: []string{"bin_code", "sku"},
		Schedule: rules.Schedule{Cron: "*/5 * * * *"}, Probe: rules.Probe{SQL: "SELECT bin_code, sku, qty FROM bin_stock", MaxRows: 10_000_000},
		Notice: rules.Notice{
			Type: "REP_NOTICE", Warehouse: `"119240"`, Priority: "qty < -100 ? 5 : 3",
			Title: map[string]string{"": "Bin {{ .bin_code }} is at {{ .qty }}"}, Fields: map[string]string{"bin": "bin_code", "qty": "qty"},
		},
		Deliver: []deliver.Entry{{Sink: "inbox"}},
	}
	types := catalog.Catalog{"REP_NOTICE": {
		Code: "REP_NOTICE", ID: 1, Retention: time.Hour,
		Fields: map[string]catalog.Field{"bin": {Type: catalog.String}, "qty": {Type: catalog.Decimal}},
	}}
	program, problems := rules.Compile(r, columns, types)
	if len(problems) > 0 {
		tb.Fatal(problems)
	}
	scoped, err := NewScopedRule(r, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	scoped.Program = program
	return &Pass{ScopedRule: scoped, Due: eight, Started: eight, Begun: time.Now(), Silencer: &silence.Set{}}
}

func benchRows(n, matchEvery int) []*row.Row {
	columns := []row.Column{{Name: "bin_code", Kind: row.Text}, {Name: "sku", Kind: row.Text}, {Name: "qty", Kind: row.Int}}
	list := make([]*row.Row, n)
	for i := range list {
		qty := int64(7)
		if i%matchEvery == 0 {
			qty = -3
		}
		list[i] = &row.Row{Columns: columns, Values: []row.Value{
			row.TextOf(fmt.Sprintf("A-%06d", i)), row.TextOf("S1"), row.IntOf(qty),
		}}
	}
	return list
}

// BenchmarkJudge turns rows into findings and drafts; each operation is one scan of 100,000 rows.
func BenchmarkJudge(b *testing.B) {
	const n = 100_000
	for _, c := range []struct {
		name    string
		every   int
		ongoing bool // the findings fire already
	}{{"nothing matches", n * 2, false}, {"1 percent new", 100, false}, {"1 percent ongoing", 100, true}} {
		b.Run(c.name, func(b *testing.B) {
			p := benchPass(b)
			rows := benchRows(n, c.every)
			if c.every > n {
				rows = rows[1:]
			}
			known := &Snapshot{}
			if c.ongoing {
				known.findings = states(benchScan(b, p, rows, known))
				known.LastDue, known.LastOKDue = eight.Add(-5*time.Minute), eight.Add(-5*time.Minute)
			}
			b.ReportAllocs()
			for b.Loop() {
				benchScan(b, p, rows, known)
			}
			b.ReportMetric(float64(len(rows))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func benchScan(tb testing.TB, p *Pass, rows []*row.Row, known *Snapshot) *Result {
	tb.Helper()
	j := newStateJudge(p, known)
	for _, r := range rows {
		if err := j.visit(r); err != nil {
			tb.Fatal(err)
		}
	}
	f, err := j.finish(scanners.Result{Rows: len(rows)})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func states(r *Result) (list []finding.State) {
	for _, c := range r.step.Changes {
		list = append(list, c.State)
	}
	return list
}

// TestRowsThatDoNotMatchCostNothing checks that judging a large scan costs little more than reading it.
func TestRowsThatDoNotMatchCostNothing(t *testing.T) {
	p := benchPass(t)
	rows := benchRows(1000, 2000)[1:]
	j := newStateJudge(p, &Snapshot{})
	if n := testing.AllocsPerRun(20, func() {
		for _, r := range rows {
			_ = j.visit(r)
		}
	}); n > 0 {
		t.Errorf("%v allocations for %d rows", n, len(rows))
	}
}

// BenchmarkCompose makes notices of 20,000 new findings.
func BenchmarkCompose(b *testing.B) {
	p := benchPass(b)
	rows := benchRows(20_000, 1)
	known := &Snapshot{}
	f := benchScan(b, p, rows, known)
	b.ReportAllocs()
	for b.Loop() {
		record, err := p.Compose(b.Context(), known, f)
		if err != nil || len(record.Notices) != len(rows) {
			b.Fatal(len(record.Notices), err)
		}
	}
}

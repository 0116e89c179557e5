package judge

import (
	"context"
	"runtime"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// givenRows is a probe that returns the rows.
type givenRows struct {
	columns []row.Column
	rows    []*row.Row
}

func (g givenRows) Columns() []row.Column { return g.columns }

func (g givenRows) Scan(_ context.Context, _ scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	for _, r := range g.rows {
		if err := visit(r); err != nil {
			return scanners.Result{}, err
		}
	}
	return scanners.Result{Rows: len(g.rows)}, nil
}

// BenchmarkLookBack is a pass over so many rows that were seen before and a hundred new ones, none of which meets the
// condition.
func BenchmarkLookBack(b *testing.B) {
	columns := []row.Column{{Name: "id", Kind: row.Int}, {Name: "qty", Kind: row.Int}}
	for name, seen := range map[string]int{"no row seen": 0, "100000 rows seen": MostSeen - 100} {
		b.Run(name, func(b *testing.B) {
			p := lookBackPass(b, columns)
			probe := givenRows{columns: columns}
			for i := range seen {
				probe.rows = append(probe.rows, &row.Row{Columns: columns, Values: []row.Value{row.IntOf(int64(i + 1)), row.IntOf(1)}})
			}
			p.Prepared = probe
			p.Rule.Probe.MaxRows = 1_000_000
			var back ledger.LookBack
			state := ledger.ScopeState{Watermark: []row.Value{row.IntOf(0)}}
			if seen > 0 {
				result := p.Scan(b.Context(), p.Begin(state, nil, back))
				if result.Fault != nil {
					b.Fatal(result.Fault)
				}
				back, state.Watermark = back.Apply(result.lookBack), result.watermark
			}
			for i := range 100 {
				probe.rows = append(probe.rows, &row.Row{Columns: columns, Values: []row.Value{row.IntOf(int64(seen + i + 1)), row.IntOf(1)}})
			}
			p.Prepared = probe
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			known := p.Begin(state, nil, back)
			newEventJudge(p, known)
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6, "MB/memory")
			runtime.KeepAlive(known)
			for b.Loop() {
				result := p.Scan(b.Context(), p.Begin(state, nil, back))
				if result.Fault != nil || result.run.Rows != 100 {
					b.Fatal(result.Fault, result.run.Rows)
				}
			}
		})
	}
}

// BenchmarkLookBackPage is a pass in the middle of a firing: a page of a hundred new rows, while 100,000 rows are
// remembered.
func BenchmarkLookBackPage(b *testing.B) {
	columns := []row.Column{{Name: "id", Kind: row.Int}, {Name: "qty", Kind: row.Int}}
	const page = 100
	probe := givenRows{columns: columns}
	read := func(p *Pass, from, count int) *Result {
		probe.rows = probe.rows[:0]
		for i := range count {
			probe.rows = append(probe.rows, &row.Row{Columns: columns, Values: []row.Value{row.IntOf(int64(from + i + 1)), row.IntOf(1)}})
		}
		p.Prepared = probe
		result := p.Scan(b.Context(), p.Begin(ledger.ScopeState{Watermark: []row.Value{row.IntOf(int64(from))}}, nil, ledger.LookBack{}))
		if result.Fault != nil {
			b.Fatal(result.Fault)
		}
		return result
	}
	p := lookBackPass(b, columns)
	p.Rule.Probe.MaxRows = MostSeen - 1
	result := read(p, 0, MostSeen)
	p.Rule.Probe.MaxRows = page
	for from := MostSeen; b.Loop(); from += page {
		if p.Resume = result.Resume(); p.Resume == nil {
			b.Fatal("the firing has ended")
		}
		result = read(p, from, page+1)
	}
}

func lookBackPass(tb testing.TB, columns []row.Column) *Pass {
	tb.Helper()
	r := &rules.Rule{
		ID: "moves", Mode: rules.ModeEvent, When: "qty < 0", Key: []string{"id"}, Schedule: rules.Schedule{Cron: "* * * * *"},
		Probe: rules.Probe{
			SQL:       "SELECT id, qty FROM moves WHERE id > :wm_id ORDER BY id",
			Watermark: &rules.Watermark{Columns: []string{"id"}, Initial: map[string]any{"id": int64(0)}},
		},
		Notice:  rules.Notice{Type: "REP_NOTICE", Warehouse: `"w"`, Priority: "3", Title: map[string]string{"": "Moved"}, Fields: map[string]string{}},
		Deliver: []deliver.Entry{{Sink: "inbox"}},
	}
	program, problems := rules.Compile(r, columns, catalog.Catalog{"REP_NOTICE": {Code: "REP_NOTICE", ID: 1, Retention: time.Hour}})
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

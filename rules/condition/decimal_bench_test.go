package condition_test

import (
	"slices"
	"testing"
	"time"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// BenchmarkDecimal holds a condition over DECIMAL columns against the same one over integers, over rows whose values
// differ, in turns. The target is at least 0.5 of the integer one's rate.
func BenchmarkDecimal(b *testing.B) {
	for _, c := range []struct{ name, src string }{
		{"compare", "qty < -5"},
		{"two-columns", "qty < minimum and qty != 0"},
		{"calculate", "qty * 3 + minimum > 100"},
		{"list", "qty in [1, 5, 7]"},
	} {
		b.Run(c.name, func(b *testing.B) {
			integers, decimals := benchRows(row.Int), benchRows(row.Decimal)
			onIntegers, onDecimals := compileFor(b, c.src, integers), compileFor(b, c.src, decimals)
			var integer, decimal []float64
			for b.Loop() {
				integer = append(integer, rowTime(b, onIntegers, integers))
				decimal = append(decimal, rowTime(b, onDecimals, decimals))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(middle(integer), "ns/row-integer")
			b.ReportMetric(middle(decimal), "ns/row-decimal")
			b.ReportMetric(middle(integer)/middle(decimal), "of-integer")
		})
	}
}

// benchRows are 1000 rows of qty and minimum; decimals have two digits after the point.
func benchRows(k row.Kind) []*row.Row {
	columns := []row.Column{{Name: "qty", Kind: k}, {Name: "minimum", Kind: k}}
	rows := make([]*row.Row, 1000)
	for i := range rows {
		qty, minimum := int64(i*7919%2000-1000), int64(i*104729%500)
		rows[i] = &row.Row{Columns: columns, Values: []row.Value{row.IntOf(qty), row.IntOf(minimum)}}
		if k == row.Decimal {
			rows[i].Values = []row.Value{row.DecimalOf(qty*100+int64(i%100), 2), row.DecimalOf(minimum*100, 2)}
		}
	}
	return rows
}

func compileFor(b *testing.B, src string, rows []*row.Row) *condition.Program {
	b.Helper()
	p, err := condition.Compile(src, rows[0].Columns)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// rowTime is how long a row takes, in nanoseconds.
func rowTime(b *testing.B, p *condition.Program, rows []*row.Row) float64 {
	b.Helper()
	started := time.Now()
	for _, r := range rows {
		if _, err := p.Match(r); err != nil {
			b.Fatal(err)
		}
	}
	return float64(time.Since(started)) / float64(len(rows))
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkResult judges a result of 10,000 rows as a whole.
func BenchmarkResult(b *testing.B) {
	var rows []*row.Row
	for range 10 {
		rows = append(rows, benchRows(row.Decimal)...)
	}
	for _, c := range []struct{ name, src string }{
		{"any", "any(rows, .qty < -99999)"},
		{"count", "count(rows, .qty < 0) > 100000"},
		{"sum", "sum(rows, .qty) > 1e12"},
		{"filter-and-max", "max(map(filter(rows, .qty < .minimum), .qty)) > 1e12"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := condition.CompileResult(c.src, rows[0].Columns)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if met, err := p.MatchResult(rows); met || err != nil {
					b.Fatal(met, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
		})
	}
}

package postgres_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
	"tallyman/rules/condition"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/postgres"
	"tallyman/scanners/scannertest"
)

const (
	benchRows  = 1_000_000
	benchTable = `CREATE TABLE bin_stock AS SELECT 119240::bigint AS wh_id, 'A-' || n / 50 || '-' || n % 50 AS bin_code, 'SKU-' || n % 9973 AS sku,
		((n::bigint * 7919 % 10000 - 100) / 4.0)::numeric(12,2) AS qty, n / 40 AS wave_no FROM generate_series(0, 999999) n`
	benchSQL   = "SELECT wh_id, bin_code, sku, qty, wave_no FROM bin_stock"
	benchWhen  = "qty < 0"
	benchFound = benchRows / 100
)

// BenchmarkScan reads 1,000,000 rows of five columns, one of them numeric, of which 1 % match a numeric condition. The
// three ways take turns, so that they share whatever the machine does: a bare rows.Next loop, which neither decodes nor
// judges; a scan with the rule's condition; and pgx's typed Scan with expr on a struct. Ratios are in rows/s, against
// rows.Next.
func BenchmarkScan(b *testing.B) {
	url := testenv.Postgres(b)
	exec(b, url, benchTable)
	exec(b, url, "VACUUM ANALYZE bin_stock")
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(b.Context())) }()
	source := open(b, postgres.Config{URL: url})
	scan := newScan(b, source)
	typed := newTyped(b, conn)
	bare := func() int { return bareNext(b, conn) }
	bare() // the table is in memory from here on

	var bareTime, scanTime, typedTime time.Duration
	var allocs uint64
	b.ResetTimer()
	for b.Loop() {
		bareTime += timed(b, benchRows, bare)
		before := mallocs()
		scanTime += timed(b, benchFound, scan)
		allocs += mallocs() - before
		typedTime += timed(b, benchFound, typed)
	}
	rows := float64(benchRows) * float64(b.N)
	b.ReportMetric(rows/bareTime.Seconds(), "rows/s:rows.Next")
	b.ReportMetric(rows/scanTime.Seconds(), "rows/s:tallyman")
	b.ReportMetric(rows/typedTime.Seconds(), "rows/s:pgx.Scan+expr")
	b.ReportMetric(bareTime.Seconds()/scanTime.Seconds(), "x-rows.Next:tallyman")
	b.ReportMetric(bareTime.Seconds()/typedTime.Seconds(), "x-rows.Next:pgx.Scan+expr")
	b.ReportMetric(typedTime.Seconds()/scanTime.Seconds(), "x-pgx.Scan+expr:tallyman")
	b.ReportMetric(float64(allocs)/rows, "allocs/row:tallyman")
}

// timed runs one pass, which returns how many rows it counted.
func timed(b *testing.B, want int, pass func() int) time.Duration {
	b.Helper()
	start := time.Now()
	if got := pass(); got != want {
		b.Fatalf("counted %d rows instead of %d", got, want)
	}
	return time.Since(start)
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// bareNext is the limit: it measures only the arrival of the rows.
func bareNext(b *testing.B, conn *pgx.Conn) int {
	b.Helper()
	rows, err := conn.Query(b.Context(), benchSQL)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}

// newScan is a scan as in a run, with the rule's condition on every row.
func newScan(b *testing.B, source scanners.Source) func() int {
	b.Helper()
	p := scannertest.Prepare(b, source, benchSQL)
	when, err := condition.Compile(benchWhen, p.Columns())
	if err != nil {
		b.Fatal(err)
	}
	return func() int {
		found := 0
		result, err := p.Scan(b.Context(), scanners.Request{Timeout: time.Minute}, func(r *row.Row) error {
			match, err := when.Match(r)
			if match {
				found++
			}
			return err
		})
		if err != nil || result.Rows != benchRows {
			b.Fatalf("%+v, %v", result, err)
		}
		return found
	}
}

type benchRow struct {
	WhID    int64   `expr:"wh_id"`
	BinCode string  `expr:"bin_code"`
	Sku     string  `expr:"sku"`
	Qty     float64 `expr:"qty"`
	WaveNo  int64   `expr:"wave_no"`
}

// newTyped is the plain way: pgx's typed Scan, and expr on a struct.
func newTyped(b *testing.B, conn *pgx.Conn) func() int {
	b.Helper()
	when, err := expr.Compile(benchWhen, expr.Env(benchRow{}), expr.AsBool())
	if err != nil {
		b.Fatal(err)
	}
	return func() int {
		rows, err := conn.Query(b.Context(), benchSQL)
		if err != nil {
			b.Fatal(err)
		}
		var r benchRow
		var machine vm.VM
		found := 0
		for rows.Next() {
			if err := rows.Scan(&r.WhID, &r.BinCode, &r.Sku, &r.Qty, &r.WaveNo); err != nil {
				b.Fatal(err)
			}
			match, err := machine.Run(when, r)
			if err != nil {
				b.Fatal(err)
			}
			if match == true {
				found++
			}
		}
		if err := rows.Err(); err != nil {
			b.Fatal(err)
		}
		return found
	}
}

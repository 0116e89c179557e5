package sqlite_test

import (
	"database/sql"
	"testing"
	"time"

	"tallyman/rules/condition"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
	"tallyman/scanners/sqlite"
)

const (
	benchRows  = 1_000_000
	benchTable = `CREATE TABLE bin_stock (wh_id INTEGER NOT NULL, bin_code TEXT NOT NULL, sku TEXT NOT NULL, qty DECIMAL(12,2) NOT NULL, wave_no INTEGER);
		WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999999)
		INSERT INTO bin_stock SELECT 119240, 'A-' || n / 50 || '-' || n % 50, 'SKU-' || n % 9973, (n * 7919 % 10000 - 100) / 4.0, n / 40 FROM s`
	benchSQL = "SELECT wh_id, bin_code, sku, qty, wave_no FROM bin_stock"
)

// BenchmarkScan reads 1,000,000 rows of five columns, of which 1 % match a numeric condition. It takes turns with the
// fastest generic way: a bare database/sql loop that scans into the same variables and judges nothing.
func BenchmarkScan(b *testing.B) {
	f := newFile(b)
	f.Exec(b, benchTable)
	db := f.writer(b)
	defer func() { _ = db.Close() }()
	p := scannertest.Prepare(b, f.Open(b, 1), benchSQL)
	when, err := condition.Compile("qty < 0", p.Columns())
	if err != nil {
		b.Fatal(err)
	}
	var bareTime, scanTime time.Duration
	b.ResetTimer()
	for b.Loop() {
		start := time.Now()
		bareLoop(b, db)
		bareTime += time.Since(start)

		start = time.Now()
		found := 0
		result, err := p.Scan(b.Context(), scanners.Request{Timeout: time.Minute}, func(r *row.Row) error {
			match, err := when.Match(r)
			if match {
				found++
			}
			return err
		})
		scanTime += time.Since(start)
		if err != nil || result.Rows != benchRows || found != benchRows/100 {
			b.Fatalf("%+v, %d found, %v", result, found, err)
		}
	}
	rows := float64(benchRows) * float64(b.N)
	b.ReportMetric(rows/bareTime.Seconds(), "rows/s:database/sql")
	b.ReportMetric(rows/scanTime.Seconds(), "rows/s:tallyman")
	b.ReportMetric(bareTime.Seconds()/scanTime.Seconds(), "x-database/sql:tallyman")
}

func bareLoop(b *testing.B, db *sql.DB) {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), benchSQL)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var v [5]any
	n := 0
	for rows.Next() {
		if err := rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4]); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil || n != benchRows {
		b.Fatalf("%d rows, %v", n, err)
	}
}

// BenchmarkStage measures a step of a rule test with a staged table: a session in memory, ten rows, and the probe.
func BenchmarkStage(b *testing.B) {
	s, err := sqlite.Open(sqlite.Config{URL: "sqlite::memory:"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	staged := scanners.StagedTable{Table: "bins", Columns: []row.Column{{Name: "code", Kind: row.Text}, {Name: "qty", Kind: row.Decimal}}}
	for i := range 10 {
		staged.Rows = append(staged.Rows, []row.Value{row.TextOf("A"), row.IntOf(int64(i))})
	}
	stmt := scannertest.Parse(b, "SELECT code, qty FROM bins WHERE qty < :least")
	for b.Loop() {
		x, err := s.Session(b.Context(), []scanners.StagedTable{staged})
		if err != nil {
			b.Fatal(err)
		}
		p, err := x.Prepare(b.Context(), stmt)
		if err != nil {
			b.Fatal(err)
		}
		if got, err := p.Scan(b.Context(), scanners.Request{Args: map[string]any{"least": 5}}, ignore); err != nil || got.Rows != 5 {
			b.Fatal(got, err)
		}
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

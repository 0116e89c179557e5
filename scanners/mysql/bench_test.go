package mysql_test

import (
	"database/sql"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/rules/condition"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
)

const (
	benchRows  = 1_000_000
	benchTable = `CREATE TABLE bin_stock (wh_id bigint NOT NULL, bin_code varchar(20) NOT NULL, sku varchar(20) NOT NULL, qty decimal(12,2) NOT NULL, wave_no int);
		INSERT INTO bin_stock SELECT 119240, CONCAT('A-', seq DIV 50, '-', seq % 50), CONCAT('SKU-', seq % 9973), (CAST(seq AS SIGNED) * 7919 % 10000 - 100) / 4.0, seq DIV 40
		FROM seq_0_to_999999`
	benchSQL = "SELECT wh_id, bin_code, sku, qty, wave_no FROM bin_stock"
)

// BenchmarkScan reads 1,000,000 rows of five columns, of which 1 % match a numeric condition. It takes turns with the
// fastest generic way: a bare database/sql loop of a prepared statement, which knows the types, copies no text and
// judges nothing.
func BenchmarkScan(b *testing.B) {
	d := testenv.MariaDB(b)
	exec(b, d, benchTable)
	db := owner(b, d)
	defer func() { _ = db.Close() }()
	p := prepare(b, open(b, mysql.Config{URL: d.URL(), MaxConnections: 1}), benchSQL)
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
	stmt, err := db.PrepareContext(b.Context(), benchSQL)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stmt.Close() }()
	rows, err := stmt.QueryContext(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var warehouse int64
	var bin, sku, qty sql.RawBytes
	var wave sql.NullInt64
	n := 0
	for rows.Next() {
		if err := rows.Scan(&warehouse, &bin, &sku, &qty, &wave); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil || n != benchRows {
		b.Fatalf("%d rows, %v", n, err)
	}
}

// BenchmarkShortScan measures a scan of one row. Nearly all of its time is the connection, the session and the
// transaction.
func BenchmarkShortScan(b *testing.B) {
	p := prepare(b, open(b, mysql.Config{URL: testenv.MariaDB(b).URL(), MaxConnections: 1}), "SELECT 1 AS one")
	for b.Loop() {
		if _, err := p.Scan(b.Context(), scanners.Request{}, ignore); err != nil {
			b.Fatal(err)
		}
	}
}

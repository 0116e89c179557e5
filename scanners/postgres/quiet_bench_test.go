package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/postgres"
	"tallyman/scanners/scannertest"
)

// BenchmarkQuietScan runs a probe that finds nothing, by an index, as most probes do most of the time. It takes turns
// with pgx alone: a prepared statement in a read-only transaction of three round trips.
func BenchmarkQuietScan(b *testing.B) {
	url := testenv.Postgres(b)
	exec(b, url, `CREATE TABLE bin_stock (wh_id integer, bin_code text, qty integer);
		INSERT INTO bin_stock SELECT w, 'B-' || n, n FROM generate_series(1, 1000) w, generate_series(1, 20) n;
		CREATE INDEX ON bin_stock (wh_id); ANALYZE bin_stock`)
	const quiet = "SELECT wh_id, bin_code, qty FROM bin_stock WHERE wh_id = :wh AND qty < 0"
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(b.Context())) }()
	p := scannertest.Prepare(b, open(b, postgres.Config{URL: url}), quiet)
	var scans, bare time.Duration
	n := 0
	for b.Loop() {
		n++
		wh := n%1000 + 1
		began := time.Now()
		_, err := p.Scan(b.Context(), scanners.Request{Args: map[string]any{"wh": row.IntOf(int64(wh))}, Timeout: time.Minute}, func(*row.Row) error { return nil })
		scans += time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		tx, err := conn.BeginTx(b.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
		if err != nil {
			b.Fatal(err)
		}
		rows, err := tx.Query(b.Context(), "SELECT wh_id, bin_code, qty FROM bin_stock WHERE wh_id = $1 AND qty < 0", wh)
		if err != nil {
			b.Fatal(err)
		}
		rows.Close()
		if err := tx.Rollback(b.Context()); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(began)
	}
	b.ReportMetric(float64(scans.Microseconds())/float64(n), "µs/scan")
	b.ReportMetric(float64(bare.Microseconds())/float64(n), "µs/pgx")
	b.ReportMetric(bare.Seconds()/scans.Seconds(), "x-pgx")
}

package postgres

import (
	"testing"

	"tallyman/internal/testenv"
)

// BenchmarkSizes fills a ledger with 200,000 notices of 30 days. It reports the disk, with indexes, of a notice and its
// delivery, of a run, of an open finding, and of an item with its moves.
func BenchmarkSizes(b *testing.B) {
	for b.Loop() {
		g := &growth{grownLedger: growLedger(b, testenv.PostgresServer(b).Database(), 200_000)}
		for _, c := range []struct {
			what   string
			tables []string // The first has a row for each.
		}{
			{"notice", []string{"notices", "deliveries"}},
			{"run", []string{"past_firings", "firings"}},
			{"open-finding", []string{"findings"}},
			{"item", []string{"items", "open_items", "item_moves"}},
		} {
			var count float64
			check(b, g.pool.QueryRow(b.Context(), "SELECT count(*) FROM "+c.tables[0]).Scan(&count))
			b.ReportMetric(float64(g.sizeOf(b, c.tables...))/count, "B/"+c.what)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// sizeOf returns the bytes on disk of the tables with all partitions and indexes.
func (g *growth) sizeOf(b *testing.B, tables ...string) (bytes int64) {
	b.Helper()
	check(b, g.pool.QueryRow(b.Context(), `SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
		WHERE c.relkind = 'r' AND coalesce(pg_partition_root(c.oid)::oid, c.oid) = ANY ($1::text[]::regclass[]::oid[])`, tables).Scan(&bytes))
	return bytes
}

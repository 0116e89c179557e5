package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/rows"
)

// BenchmarkItems compares with pgx's CopyFrom of the items and of their moves, in a transaction each, into tables without any
// index.
func BenchmarkItems(b *testing.B) {
	for _, load := range ledgertest.ItemLoads() {
		b.Run(load.String(), func(b *testing.B) {
			url := migrated(b)
			l := open(b, url, ledger.Options{MaxConnections: load.Queues})
			ledgertest.BenchmarkItems(b, l, bareItems(b, url, load.Queues), load)
		})
	}
}

func BenchmarkItemReads(b *testing.B) {
	ledgertest.BenchmarkItemReads(b, open(b, migrated(b), ledger.Options{}))
}

const bareItemTables = `
CREATE TABLE bare_items (seq bigint, created_at bigint, ready_at bigint, until_at bigint, queue_id integer, priority smallint,
    id text COLLATE "C", bucket text, dedupe_key text, subject text, pushed_by text, node text, payload bytea);
CREATE TABLE bare_moves (seq bigint, at bigint, moves text)`

func bareItems(b *testing.B, url string, workers int) ledgertest.BareItems {
	b.Helper()
	execute(b, url, bareItemTables)
	conns := make([]*pgx.Conn, workers)
	for i := range conns {
		conn, err := pgx.Connect(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = conn
		b.Cleanup(func() { _ = conn.Close(b.Context()) })
	}
	itemColumns := []string{
		"seq", "created_at", "ready_at", "until_at", "queue_id", "priority", "id", "bucket", "dedupe_key", "subject", "pushed_by", "node",
		"payload",
	}
	return func(b *testing.B, worker int, items []item.Record, moves item.Moves) {
		b.Helper()
		var pushed, moved [][]any
		for i := range items {
			r := rows.NewItem(&items[i], int64(i))
			pushed = append(pushed, []any{
				r.Seq, r.Created, r.Ready, r.Until, int32(1), r.Priority, r.ID, r.Bucket, r.Key, r.Subject, r.By, r.Node, r.Payload,
			})
		}
		for _, t := range rows.NewApply([]item.Moves{moves}, 0).Traces {
			moved = append(moved, []any{t.Seq, t.At, string(t.Moves)})
		}
		copyInto(b, conns[worker], "bare_items", itemColumns, pushed)
		copyInto(b, conns[worker], "bare_moves", []string{"seq", "at", "moves"}, moved)
	}
}

func copyInto(b *testing.B, conn *pgx.Conn, table string, columns []string, set [][]any) {
	b.Helper()
	if _, err := conn.CopyFrom(b.Context(), pgx.Identifier{table}, columns, pgx.CopyFromRows(set)); err != nil {
		b.Error(err)
	}
}

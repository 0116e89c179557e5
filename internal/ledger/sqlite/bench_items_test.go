package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/rows"
)

// BenchmarkItems compares with prepared inserts of the items and of their moves, in a transaction each, into tables with their
// primary keys only, under the same pragmas.
func BenchmarkItems(b *testing.B) {
	for _, load := range ledgertest.ItemLoads() {
		b.Run(load.String(), func(b *testing.B) {
			ledgertest.BenchmarkItems(b, open(b, migrated(b), ledger.Options{}), bareItems(b), load)
		})
	}
}

func BenchmarkItemReads(b *testing.B) {
	ledgertest.BenchmarkItemReads(b, open(b, migrated(b), ledger.Options{}))
}

const bareItemTables = `
CREATE TABLE items (seq INTEGER PRIMARY KEY, queue_id INTEGER, id TEXT, priority INTEGER, created_at INTEGER, ready_at INTEGER,
    until_at INTEGER, bucket TEXT, dedupe_key TEXT, subject TEXT, pushed_by TEXT, node TEXT, payload BLOB);
CREATE TABLE item_moves (num INTEGER PRIMARY KEY, seq INTEGER, at INTEGER, moves TEXT)`

func bareItems(b *testing.B) ledgertest.BareItems {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bare.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	check(b, err)
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(b.Context(), bareItemTables)
	check(b, err)
	insertItem, err := db.PrepareContext(b.Context(), "INSERT INTO items VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	check(b, err)
	insertMoves, err := db.PrepareContext(b.Context(), "INSERT INTO item_moves VALUES (NULL, ?, ?, ?)")
	check(b, err)
	return func(b *testing.B, _ int, items []item.Record, moves item.Moves) {
		b.Helper()
		var pushed, moved [][]any
		for i := range items {
			r := rows.NewItem(&items[i], 0)
			pushed = append(pushed, []any{
				1, r.ID, r.Priority, r.Created, r.Ready, r.Until, r.Bucket, r.Key, r.Subject, r.By, r.Node, r.Payload,
			})
		}
		for _, t := range rows.NewApply([]item.Moves{moves}, 0).Traces {
			moved = append(moved, []any{t.Seq, t.At, string(t.Moves)})
		}
		for _, set := range []rowSet{{insertItem, pushed}, {insertMoves, moved}} {
			if err := write(b.Context(), db, []rowSet{set}); err != nil {
				b.Error(err)
			}
		}
	}
}

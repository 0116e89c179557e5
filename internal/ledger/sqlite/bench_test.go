package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/sqlite"
	"tallyman/internal/notice"
)

// BenchmarkCommit compares with prepared inserts of the same three row sets in one transaction, into tables with
// their primary keys only, under the same pragmas.
func BenchmarkCommit(b *testing.B) {
	for name, markSent := range map[string]bool{"commit": false, "sent": true} {
		b.Run(name, func(b *testing.B) {
			ledgertest.BenchmarkCommit(b, open(b, migrated(b), ledger.Options{}), bareInserts(b), markSent)
		})
	}
}

const bareTables = `
CREATE TABLE findings (scope_id INTEGER, key TEXT, phase INTEGER, priority INTEGER, ordinal INTEGER, episode INTEGER,
    since_clock INTEGER, absent_since INTEGER, firing_since INTEGER, last_notified INTEGER, notice_id TEXT,
    group_key TEXT, last_row BLOB, row_due INTEGER, PRIMARY KEY (scope_id, key)) WITHOUT ROWID;
CREATE TABLE notices (num INTEGER PRIMARY KEY, id TEXT UNIQUE, type TEXT, rule TEXT, status TEXT, created_at INTEGER,
    expires_at INTEGER, body BLOB, finding INTEGER, warehouse TEXT);
CREATE TABLE deliveries (seq INTEGER PRIMARY KEY, notice INTEGER, lane_id INTEGER, expires_at INTEGER, recipients TEXT)`

// bareInserts makes the tables and returns a function that fills them.
func bareInserts(b *testing.B) ledgertest.Bare {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bare.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	check(b, err)
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(b.Context(), bareTables)
	check(b, err)
	findings, err := db.PrepareContext(b.Context(), "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	check(b, err)
	notices, err := db.PrepareContext(b.Context(), "INSERT INTO notices VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	check(b, err)
	deliveries, err := db.PrepareContext(b.Context(), "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?)")
	check(b, err)
	num := int64(0)
	return func(b *testing.B, batch *ledger.Commit) func() {
		b.Helper()
		sets := []rowSet{{findings, nil}, {notices, nil}, {deliveries, nil}}
		for i, n := range batch.Notices {
			num++
			f := &batch.Findings[i]
			body, err := notice.Marshal(n.Notice)
			check(b, err)
			sets[0].rows = append(sets[0].rows, []any{
				1, f.Key, int(f.Phase), f.Priority, f.Ordinal, f.Episode.UnixMicro(), f.SinceClock.Microseconds(), 0,
				f.FiringSince.UnixMicro(), f.LastNotified.UnixMicro(), f.NoticeID,
				f.Group, f.Row, batch.Run.Due.UnixMicro(),
			})
			sets[1].rows = append(sets[1].rows, []any{
				num, n.Notice.ID, n.Notice.Type, n.Notice.Rule, string(n.Notice.Status), n.Notice.CreatedAt.UnixMicro(),
				n.Notice.ExpiresAt.UnixMicro(), body, codec.FindingOf(n.Notice), n.Notice.Warehouse,
			})
			sets[2].rows = append(sets[2].rows, []any{num, num, 1, n.Notice.ExpiresAt.UnixMicro(), "role:keeper user:1"})
		}
		return func() { check(b, write(b.Context(), db, sets)) }
	}
}

// rowSet is the rows of one statement.
type rowSet struct {
	stmt *sql.Stmt
	rows [][]any
}

// write inserts the rows in one transaction.
func write(ctx context.Context, db *sql.DB, sets []rowSet) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, s := range sets {
		if err := s.insert(ctx, tx); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (s rowSet) insert(ctx context.Context, tx *sql.Tx) error {
	stmt := tx.StmtContext(ctx, s.stmt)
	defer stmt.Close()
	for _, r := range s.rows {
		if _, err := stmt.ExecContext(ctx, r...); err != nil {
			return err
		}
	}
	return nil
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkReads(b *testing.B) {
	ledgertest.BenchmarkReads(b, open(b, migrated(b), ledger.Options{}))
}

func BenchmarkCommitPushes(b *testing.B) {
	ledgertest.BenchmarkCommitPushes(b, open(b, migrated(b), ledger.Options{}))
}

// BenchmarkItems compares with prepared inserts of the items and of their moves, one transaction each, into tables
// with their primary keys only, under the same pragmas.
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
			r := codec.NewItem(&items[i], 0)
			pushed = append(pushed, []any{
				1, r.ID, r.Priority, r.Created, r.Ready, r.Until, r.Bucket, r.Key, r.Subject, r.By, r.Node, r.Payload,
			})
		}
		for _, t := range codec.NewApply([]item.Moves{moves}, 0).Traces {
			moved = append(moved, []any{t.Seq, t.At, string(t.Moves)})
		}
		for _, set := range []rowSet{{insertItem, pushed}, {insertMoves, moved}} {
			if err := write(b.Context(), db, []rowSet{set}); err != nil {
				b.Error(err)
			}
		}
	}
}

// BenchmarkSends measures requests of business systems, and marks of readers.
func BenchmarkSends(b *testing.B) {
	ledgertest.BenchmarkSends(b, open(b, migrated(b), ledger.Options{}))
}

func BenchmarkForget(b *testing.B) {
	ledgertest.BenchmarkForget(b, open(b, migrated(b), ledger.Options{}))
}

// BenchmarkOldestPending has a million pending deliveries: to a push channel, or to the inboxes of a thousand
// warehouses.
func BenchmarkOldestPending(b *testing.B) {
	const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
	for name, lanes := range map[string]int{"push": 1, "inbox": 1000} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "ledger.db")
			_, err := sqlite.Migrate(b.Context(), path)
			check(b, err)
			db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)")
			check(b, err)
			for _, statement := range []string{
				fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO lanes (sink, warehouse) SELECT 'sink', i FROM n", lanes),
				numbers + `INSERT INTO notices (num, id, type, rule, status, created_at, expires_at, body) SELECT i, 'n_' || i, 'REP_NOTICE', 'r', 'firing', i, 9000000000000000, x'' FROM n`,
				numbers + fmt.Sprintf("INSERT INTO deliveries (seq, notice, lane_id, expires_at, recipients) SELECT i, i, 1 + i %% %d, 9000000000000000, '' FROM n", lanes),
				numbers + `INSERT INTO pushes (seq, lane_id, due, first_due, deadline, ends, addressee, kind, delay, at, within, retry, unless)
					SELECT i, 1, i, i, 0, 9000000000000000, 0, 'delayed', 0, 0, 0, 0, '' FROM n WHERE ` + fmt.Sprint(name == "push"),
			} {
				_, err := db.ExecContext(b.Context(), statement)
				check(b, err)
			}
			check(b, db.Close())
			ledgertest.BenchmarkOldestPending(b, open(b, path, ledger.Options{}), 1)
		})
	}
}

func BenchmarkLookBack(b *testing.B) {
	ledgertest.BenchmarkLookBack(b, open(b, migrated(b), ledger.Options{}))
}

package sqlite

import (
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/ledger/schema"
	"tallyman/internal/notice"
)

// A ledger of any older version, with data in it, is brought up to date and goes on where it stood.
func TestMigrate(t *testing.T) {
	t.Parallel()
	for version := int64(1); version < 4; version++ {
		t.Run(fmt.Sprintf("from %d", version), func(t *testing.T) {
			t.Parallel()
			checkMigrated(t, version)
		})
	}
}

// A ledger of before rule_versions knows from its records which rules were in force.
func TestMigrateRuleVersions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, older := openOlder(t, path)
	_, err := older.UpTo(t.Context(), 12)
	noError(t, err)
	for _, state := range []string{ledgertest.OldVersionBefore, ledgertest.OldVersion} {
		_, err = db.ExecContext(t.Context(), "INSERT INTO audit (at, actor, via, action, object, after, reason) VALUES (1, 'node:a', 'file', 'rules.reload', 'rules', ?, '')", state)
		noError(t, err)
	}
	noError(t, db.Close())
	_, err = Migrate(t.Context(), path)
	noError(t, err)
	l, err := Open(t.Context(), path, ledger.Options{})
	noError(t, err)
	ledgertest.CheckRulesMigrated(t, l)
	noError(t, l.Close())
}

// openOlder opens a new file, and what brings its schema to a version.
func openOlder(t *testing.T, path string) (*sql.DB, *goose.Provider) {
	t.Helper()
	db, err := openWriter(path)
	noError(t, err)
	files, err := fs.Sub(migrationFiles, "migrations")
	noError(t, err)
	older, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithTableName(schema.Table), goose.WithDisableGlobalRegistry(true))
	noError(t, err)
	return db, older
}

func checkMigrated(t *testing.T, version int64) {
	t.Helper()
	path, db := olderLedger(t, version)
	noError(t, db.Close())

	applied, err := Migrate(t.Context(), path)
	noError(t, err)
	if len(applied) == 0 || applied[0].Version != version+1 {
		t.Fatalf("applied %+v", applied)
	}
	l, err := Open(t.Context(), path, ledger.Options{Now: ledgertest.OldNow})
	noError(t, err)
	ledgertest.CheckMigrated(t, l)
	noError(t, l.Close())
}

// olderLedger is a ledger of that version, with the data of the first.
func olderLedger(t *testing.T, version int64) (string, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, older := openOlder(t, path)
	_, err := older.UpTo(t.Context(), 1)
	noError(t, err)
	fillFirstVersion(t, db)
	_, err = older.UpTo(t.Context(), version)
	noError(t, err)
	return path, db
}

func fillFirstVersion(t *testing.T, db *sql.DB) {
	t.Helper()
	n := ledgertest.OldNotice()
	body, err := notice.Marshal(n)
	noError(t, err)
	insert := func(query string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), query, args...)
		noError(t, err)
	}
	insert("INSERT INTO rule_scopes (id, rule, scope, registered_at) VALUES (4, ?, ?, 1)", ledgertest.OldRule, ledgertest.OldScope)
	for _, key := range []string{ledgertest.OldFiring, ledgertest.OldOther} {
		st := ledgertest.OldFinding(key)
		f := rows.NewFinding(&st)
		insert(`INSERT INTO findings (scope_id, key, phase, priority, ordinal, episode, seen_clock, absent_since, firing_since,
			last_notified, notice_id) VALUES (4, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, f.Key, f.Phase, f.Priority, f.Ordinal, f.Episode,
			f.SeenClock, f.AbsentSince, f.FiringSince, f.LastNotified, f.NoticeID)
	}
	insert("INSERT INTO notices (num, id, type, rule, status, created_at, expires_at, body) VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
		n.ID, n.Type, n.Rule, string(n.Status), rows.Micros(n.CreatedAt), rows.Micros(n.ExpiresAt), body)
	insert("UPDATE ledger_numbers SET value = 1 WHERE name = 'notice'")
	insert("INSERT INTO lanes (id, sink, warehouse) VALUES (3, ?, '')", ledgertest.OldSink)
	insert("INSERT INTO deliveries (seq, notice, lane_id, expires_at, recipients) VALUES (?, 1, 3, ?, '')",
		ledgertest.OldSeq, rows.Micros(n.ExpiresAt))
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Items of queues that were made of notices belong to the warehouses of these.
func TestMigrateItems(t *testing.T) {
	t.Parallel()
	path, db := olderLedger(t, 13)
	for _, query := range []string{
		"UPDATE notices SET warehouse = '" + ledgertest.OldNotice().Warehouse + "'",
		"INSERT INTO queues (name, sink) VALUES ('old', 'old')",
		`INSERT INTO items (seq, queue_id, id, priority, created_at, ready_at, until_at, bucket, dedupe_key, subject, pushed_by, node, payload)
			SELECT 1, id, '` + ledgertest.OldNotice().ID + `', 3, 1, 1, 0, '', '', '', '', '', X'7B7D' FROM queues`,
		`INSERT INTO items (seq, queue_id, id, priority, created_at, ready_at, until_at, bucket, dedupe_key, subject, pushed_by, node, payload)
			SELECT 2, id, 'pushed', 3, 1, 1, 0, '', '', '', '', '', X'7B7D' FROM queues`,
		`INSERT INTO open_items (queue_id, seq, state, moves, attempt, failures, suspends, due, assignee, subject_hash)
			SELECT queue_id, seq, 'r', 0, 0, 0, 0, 0, '', 0 FROM items`,
	} {
		_, err := db.ExecContext(t.Context(), query)
		noError(t, err)
	}
	noError(t, db.Close())
	_, err := Migrate(t.Context(), path)
	noError(t, err)
	l, err := Open(t.Context(), path, ledger.Options{Now: ledgertest.OldNow})
	noError(t, err)
	ledgertest.CheckMigratedItems(t, l)
	noError(t, l.Close())
}

package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"tallyman/internal/testenv"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
	"tallyman/scanners/sqlite"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// file is a database in a file of its own.
type file struct{ path string }

func newFile(t testing.TB) *file {
	t.Helper()
	f := &file{path: filepath.Join(t.TempDir(), "a sample #1?.db")}
	f.Exec(t, "PRAGMA journal_mode = WAL")
	return f
}

// writer opens the file as a program beside us would.
func (f *file) writer(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+uriPath(f.path)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (f *file) Exec(t testing.TB, statements string) {
	t.Helper()
	db := f.writer(t)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func (f *file) Open(t testing.TB, maxConnections int) scanners.Source {
	t.Helper()
	s, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + f.path, MaxConnections: maxConnections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (f *file) Limited(t testing.TB, limits scanners.Limits) scanners.Source {
	t.Helper()
	s, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + f.path, MaxConnections: 1, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (f *file) Cut(t testing.TB) {
	t.Helper()
	f.rename(t, f.path, f.path+".away")
}

func (f *file) Restore(t testing.TB) {
	t.Helper()
	f.rename(t, f.path+".away", f.path)
}

func (f *file) rename(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

const series = `WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d)
	SELECT CAST(n AS INTEGER) AS n, 'SKU-' || n %% 97 AS sku, CAST(n * 0.25 AS NUMERIC) AS qty, 'a note' AS note FROM s`

const hours = `WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) `

func dialect() scannertest.Dialect {
	return scannertest.Dialect{
		New: func(t testing.TB) scannertest.Database { t.Helper(); return newFile(t) },
		Types: map[string]string{
			"bool": "BOOLEAN", "small": "SMALLINT", "big": "BIGINT", "ratio": "DOUBLE PRECISION", "decimal": "DECIMAL(12,3)", "text": "TEXT",
			"bytes": "BLOB", "date": "DATE", "time": "TIMESTAMP", "zoned": "TIMESTAMPTZ", "json": "JSON",
		},
		Bytes:     "x'00ff'",
		Zoned:     "'2026-06-01T08:00:00+08:00'",
		Series:    series,
		Stream:    250_000, // pure Go under -race takes 40 s for a million; 35 bytes that were kept of a row would still show
		Repeat:    "substr(hex(zeroblob((%[1]d + 1) / 2)), 1, %[1]d)",
		Untold:    true,
		Endless:   hours + "SELECT count(*) AS n FROM s",
		Trickle:   hours + "SELECT CAST(n AS INTEGER) AS n FROM s WHERE n = 1 OR n < 0",
		Leaks:     []string{"SELECT last_insert_rowid() + 0 AS n", "SELECT random() AS n"},
		State:     "SELECT printf('%d %d', last_insert_rowid(), total_changes()) AS state",
		NoExplain: true,
		Schema:    "main",
		Stock: `CREATE TABLE stock (id INTEGER PRIMARY KEY, wh_id INTEGER NOT NULL, bin_code TEXT NOT NULL, qty DECIMAL(12,3) NOT NULL CHECK (qty < 1000),
			reserved DECIMAL(12,3) NOT NULL DEFAULT 0, free DECIMAL(12,3) GENERATED ALWAYS AS (qty - reserved) STORED, UNIQUE (wh_id, bin_code))`,
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	scannertest.Run(t, dialect())
}

func TestLargeRows(t *testing.T) { //nolint:paralleltest // it measures the process
	testenv.Slow(t)
	scannertest.Memory(t, dialect())
}

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

// writer opens the file as another program would.
func (f *file) writer(t scannertest.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+uriPath(f.path)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (f *file) Exec(t scannertest.T, statements string) {
	t.Helper()
	db := f.writer(t)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func (f *file) Open(t scannertest.T, maxConnections int) scanners.Source {
	t.Helper()
	s, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + f.path, MaxConnections: maxConnections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (f *file) Limited(t scannertest.T, limits scanners.Limits) scanners.Source {
	t.Helper()
	s, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + f.path, MaxConnections: 1, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (f *file) Cut(t scannertest.T) {
	t.Helper()
	f.rename(t, f.path, f.path+".away")
}

func (f *file) Restore(t scannertest.T) {
	t.Helper()
	f.rename(t, f.path+".away", f.path)
}

func (f *file) rename(t scannertest.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func dialect() scannertest.Dialect {
	d := scannertest.SQLite()
	d.New = func(t scannertest.T) scannertest.Database { t.Helper(); return newFile(t.(testing.TB)) }
	if testing.Short() {
		d.Stream = 40_000
	}
	return d
}

func TestSuite(t *testing.T) {
	t.Parallel()
	scannertest.Run(t, dialect())
}

func TestLargeRows(t *testing.T) { //nolint:paralleltest // it measures the process
	testenv.Slow(t)
	scannertest.Memory(t, dialect())
}

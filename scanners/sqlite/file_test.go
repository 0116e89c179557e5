package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
	"tallyman/scanners/sqlite"
)

func ignore(*row.Row) error { return nil }

// TestBadValues has values that do not fit their column. The error of the scan names the row.
func TestBadValues(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, "CREATE TABLE bad (id INTEGER, v_int INT, v_dec DECIMAL(5,2), v_real REAL, v_text TEXT, v_date DATE, v_at TIMESTAMP, v_ok BOOLEAN, v_blob BLOB)")
	s := f.Open(t, 1)
	for column, value := range map[string]string{
		"v_int": "'abc'", "v_dec": "'1,5'", "v_real": "x'00'", "v_text": "x'00'", "v_date": "'01.06.2026'", "v_at": "'soon'", "v_ok": "2", "v_blob": "1.5",
	} {
		f.Exec(t, fmt.Sprintf("DELETE FROM bad; INSERT INTO bad (id, %s) VALUES (7, %s)", column, value))
		p := scannertest.Prepare(t, s, "SELECT id, "+column+" FROM bad")
		_, err := p.Scan(t.Context(), scanners.Request{}, ignore)
		var e *scanners.Error
		if !errors.As(err, &e) || e.Code != scanners.CodeFailed || !strings.Contains(err.Error(), "column "+column) || !strings.Contains(err.Error(), "(where id is 7)") {
			t.Errorf("%s = %s: %v", column, value, err)
		}
	}
}

// TestConcurrentWriter scans while another program writes in WAL mode. No scan fails, and each sees one state.
func TestConcurrentWriter(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, "CREATE TABLE bins (id INTEGER PRIMARY KEY, qty INT NOT NULL); INSERT INTO bins VALUES (1, 0), (2, 0)")
	s := f.Open(t, 2)
	writer := f.writer(t)
	defer func() { _ = writer.Close() }()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			if _, err := writer.ExecContext(context.WithoutCancel(ctx), "BEGIN IMMEDIATE; UPDATE bins SET qty = qty + 1 WHERE id = 1; UPDATE bins SET qty = qty + 1 WHERE id = 2; COMMIT"); err != nil {
				t.Errorf("the writer was held up: %v", err)
				break
			}
		}
		done <- n
	}()
	p := scannertest.Prepare(t, s, "SELECT id, qty FROM bins ORDER BY id")
	for range 100 {
		rows := scannertest.Rows(t, p, nil)
		if len(rows) != 2 || rows[0].Values[1].Int() != rows[1].Values[1].Int() {
			t.Errorf("half a transaction: %v %v", rows[0].Values, rows[1].Values)
		}
	}
	stop()
	if n := <-done; n == 0 {
		t.Error("nothing was written meanwhile")
	}
}

// TestUncleanEnd opens a file whose writer died: committed rows are only in the WAL, without its index.
func TestUncleanEnd(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, "CREATE TABLE bins (id INTEGER)")
	writer := f.writer(t)
	defer func() { _ = writer.Close() }()
	if _, err := writer.ExecContext(t.Context(), "INSERT INTO bins VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	left := &file{path: filepath.Join(t.TempDir(), "left.db")}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(f.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left.path+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := scannertest.One(t, left.Open(t, 1), "SELECT id FROM bins; -- with a comment after its end", nil); got != "7" {
		t.Errorf("read %s", got)
	}
}

// TestJournalMode waits for a writer that locks the whole file, for at most the timeout of the scan.
func TestJournalMode(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, "PRAGMA journal_mode = DELETE; CREATE TABLE bins (id INTEGER)")
	s := f.Open(t, 1)
	p := scannertest.Prepare(t, s, "SELECT id FROM bins")
	writer := f.writer(t)
	defer func() { _ = writer.Close() }()
	conn, err := writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	_, err = p.Scan(t.Context(), scanners.Request{Timeout: 50 * time.Millisecond}, ignore)
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code != scanners.CodeTimeout || !e.Transient {
		t.Errorf("while it is locked: %v", err)
	}
	timer := time.AfterFunc(100*time.Millisecond, func() { _, _ = conn.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK") })
	defer timer.Stop()
	if _, err := p.Scan(t.Context(), scanners.Request{Timeout: time.Minute}, ignore); err != nil {
		t.Errorf("after it was freed: %v", err)
	}
}

// TestMissingFile tests that a missing file is an unreachable source, and that no file is created.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.db")
	s, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Ping(t.Context()); !scanners.IsTransient(err) || !strings.Contains(err.Error(), "none.db") {
		t.Errorf("ping: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was made: %v", err)
	}
	if err := s.Ping(t.Context()); !strings.Contains(err.Error(), "no file ") {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("this is no database, just a text that is long enough to be looked at for a header, so that SQLite can tell"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); !scanners.IsTransient(err) {
		t.Errorf("a text file: %v", err)
	}
	within, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + filepath.Join(path, "a.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = within.Close() }()
	if err := within.Ping(t.Context()); !scanners.IsTransient(err) || !strings.Contains(err.Error(), "not a directory") || strings.Contains(err.Error(), "no file") {
		t.Errorf("a path through a file: %v", err)
	}
	for _, url := range []string{"", "sqlite:", "pilot.db", "postgres://x"} {
		if _, err := sqlite.Open(sqlite.Config{URL: url}); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
}

// TestReplacedFile tests that a scan reads the present file, and not a replaced one.
func TestReplacedFile(t *testing.T) {
	t.Parallel()
	first, second := newFile(t), newFile(t)
	first.Exec(t, "CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('first')")
	second.Exec(t, "CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('second'); PRAGMA journal_mode = DELETE")
	s := first.Open(t, 1)
	if got := scannertest.One(t, s, "SELECT v FROM t", nil); got != "first" {
		t.Error(got)
	}
	first.Exec(t, "PRAGMA journal_mode = DELETE")
	first.rename(t, second.path, first.path)
	if got := scannertest.One(t, s, "SELECT v FROM t", nil); got != "second" {
		t.Error(got)
	}
}

// TestChanged alters a table after a statement on it was prepared.
func TestChanged(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, "CREATE TABLE bins (id INTEGER NOT NULL)")
	p := scannertest.Prepare(t, f.Open(t, 1), "SELECT * FROM bins")
	for _, change := range []string{
		"ALTER TABLE bins RENAME TO old; CREATE TABLE bins (id INTEGER); INSERT INTO bins VALUES (NULL)",
		"ALTER TABLE bins ADD qty INT",
	} {
		f.Exec(t, change)
		_, err := p.Scan(t.Context(), scanners.Request{}, ignore)
		var e *scanners.Error
		if !errors.As(err, &e) || e.Code != scanners.CodeChanged || e.Transient {
			t.Errorf("%s: %v", change, err)
		}
	}
}

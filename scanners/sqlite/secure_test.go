package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// TestSecondLock runs statements that rules/probe would refuse. The connection refuses them, too.
func TestSecondLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "wms.db")
	writer, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	if _, err := writer.ExecContext(t.Context(), "CREATE TABLE bins (id INTEGER); INSERT INTO bins VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{URL: "sqlite:" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, sql := range []string{
		"DELETE FROM bins", "INSERT INTO bins VALUES (2) RETURNING id", "CREATE TABLE made (x)", "CREATE TEMP TABLE made (x)", "DROP TABLE bins",
		"PRAGMA query_only = 0", "PRAGMA journal_mode = DELETE", "ATTACH '" + filepath.Join(dir, "other.db") + "' AS other", "BEGIN IMMEDIATE",
		"VACUUM INTO '" + filepath.Join(dir, "copy.db") + "'", "SELECT * FROM pragma_database_list",
		"SELECT 1 AS id; DELETE FROM bins",
	} {
		p := &prepared{source: s, on: s, sql: sql, columns: []row.Column{{Name: "id", Kind: row.Int}}, names: []string{"id"}}
		_, err := p.Scan(t.Context(), scanners.Request{}, func(*row.Row) error { return nil })
		var e *scanners.Error
		if !errors.As(err, &e) || e.Code != scanners.CodeReadOnly || e.Transient {
			t.Errorf("%s: %v", sql, err)
		}
	}
	var n int
	if err := writer.QueryRowContext(t.Context(), "SELECT count(*) + 10 * (SELECT count(*) FROM sqlite_schema) FROM bins").Scan(&n); err != nil || n != 11 {
		t.Errorf("something was written: %d, %v", n, err)
	}
	if made, _ := filepath.Glob(filepath.Join(dir, "*.db")); len(made) != 1 {
		t.Errorf("files were made: %v", made)
	}
}

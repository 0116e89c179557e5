package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// TestFunctions tests that the authorizer refuses what only SQLite sees: a view that calls a forbidden function.
func TestFunctions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "wms.db")
	writer, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	if _, err := writer.ExecContext(t.Context(), `CREATE TABLE bins (id INTEGER); CREATE VIEW loading AS SELECT id, fts5(id) AS n FROM bins;
		CREATE VIEW around AS SELECT id FROM loading WHERE n IS NULL; CREATE VIEW calm AS SELECT id, random() AS r, datetime() AS t FROM bins`); err != nil {
		t.Fatal(err)
	}
	for sql, says := range map[string]string{
		"SELECT CAST(n AS TEXT) AS n FROM loading":          "fts5, which reaches files or other programs",
		"SELECT id FROM around":                             "sources.wms with the line: functions: [fts5]",
		"SELECT (SELECT count(*) FROM around) AS n":         "fts5",
		"SELECT id FROM calm":                               "",
		"SELECT fts5(id) AS n FROM bins":                    "fts5, which reaches files or other programs",
		"SELECT count(*) AS n, upper('a') AS u FROM bins":   "",
		"WITH x AS (SELECT id FROM around) SELECT 1 AS one": "",
	} {
		s, err := Open(Config{URL: "sqlite:" + path, Functions: scanners.Functions{Source: "wms"}})
		if err != nil {
			t.Fatal(err)
		}
		stmt, faults := probe.Parse(sql)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		_, err = s.Prepare(t.Context(), stmt)
		var e *scanners.Error
		if says == "" && err != nil || says != "" && (!errors.As(err, &e) || e.Code != scanners.CodeFunction || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: want %q, got %v", sql, says, err)
		}
		_ = s.Close()
	}
	allowing, err := Open(Config{URL: "sqlite:" + path, Functions: scanners.Functions{Allowed: []string{"fts5"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = allowing.Close() }()
	stmt, _ := probe.Parse("SELECT id FROM around")
	if _, err := allowing.Prepare(t.Context(), stmt); err != nil {
		t.Errorf("a function that is allowed by name: %v", err)
	}
}

package sqlite_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
	"tallyman/scanners/sqlite"
)

func memory(t *testing.T) *sqlite.Source {
	t.Helper()
	s, err := sqlite.Open(sqlite.Config{URL: "sqlite::memory:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func stage(t *testing.T, s scanners.Sessions, staged ...scanners.StagedTable) scanners.Session {
	t.Helper()
	x, err := s.Session(t.Context(), staged)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// TestMemory has two sessions side by side, each with a table of the same name.
func TestMemory(t *testing.T) {
	t.Parallel()
	s := memory(t)
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	bins := func(codes ...string) scanners.StagedTable {
		staged := scanners.StagedTable{Table: "bins", Columns: []row.Column{{Name: "code", Kind: row.Text}, {Name: "qty", Kind: row.Decimal}}}
		for i, code := range codes {
			staged.Rows = append(staged.Rows, []row.Value{row.TextOf(code), row.IntOf(int64(i))})
		}
		return staged
	}
	one, two := stage(t, s, bins("A")), stage(t, s, bins("B", "007"), scanners.StagedTable{Table: "zones", Columns: []row.Column{{Name: "id", Kind: row.Int}}})
	if got := scannertest.One(t, one, "SELECT group_concat(code) AS v FROM bins", nil); got != "A" {
		t.Errorf("the first session has %s", got)
	}
	if got := scannertest.One(t, two, "SELECT group_concat(code) AS v FROM bins WHERE qty >= :min", map[string]any{"min": 0.0}); got != "B,007" {
		t.Errorf("the second session has %s", got)
	}
	if got := scannertest.One(t, two, "SELECT count(*) AS n FROM bins b LEFT JOIN zones z ON z.id = b.qty WHERE z.id IS NULL", nil); got != "2" {
		t.Errorf("%s rows", got)
	}
	if names, err := s.Tables(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("tables %q, %v", names, err)
	}
}

// TestMemoryHasNoDurations tests that a duration is refused, and not stored as something else.
func TestMemoryHasNoDurations(t *testing.T) {
	t.Parallel()
	_, err := memory(t).Session(t.Context(), []scanners.StagedTable{{Table: "x", Columns: []row.Column{{Name: "age", Kind: row.Duration}}}})
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code != scanners.CodeStage || !strings.Contains(err.Error(), "number of seconds") {
		t.Error(err)
	}
}

// TestStagedAsTheFileWrites stages times in the form of the file's column, and keeps collations, views and generated
// columns.
func TestStagedAsTheFileWrites(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, `CREATE TABLE "My Moves" (Id INTEGER, "at" TIMESTAMP, unix DATETIME, code TEXT COLLATE NOCASE, "order" INT DEFAULT (1 + 1),
		twice INT AS ((Id) * 2), CONSTRAINT c CHECK (Id > 0)); CREATE VIEW latest AS SELECT Id, "at" FROM "My Moves"`)
	f.Exec(t, `INSERT INTO "My Moves" (Id, "at", unix) VALUES (1, '2026-06-01T08:00:00Z', 1780272600)`)
	at := time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)
	s := f.Open(t, 1).(*sqlite.Source)
	x := stage(t, s, scanners.StagedTable{
		Table:   `"My Moves"`,
		Columns: []row.Column{{Name: "id"}, {Name: "at"}, {Name: "unix"}, {Name: "code"}},
		Rows:    [][]row.Value{{row.IntOf(-1), row.TimeOf(at), row.TimeOf(at), row.TextOf("Abc")}},
	}, scanners.StagedTable{Table: "latest", Columns: []row.Column{{Name: "id"}}, Rows: [][]row.Value{{row.IntOf(9)}}})
	for sql, want := range map[string]string{
		`SELECT "at" || ' ' || unix AS v FROM "My Moves"`:                                "2026-06-01T09:00:00Z 1780304400",
		`SELECT "order" + twice AS v FROM "My Moves" WHERE code = 'ABC'`:                 "0",
		`SELECT id FROM latest WHERE NOT EXISTS (SELECT 1 FROM "My Moves" WHERE id > 0)`: "9",
	} {
		if got := scannertest.One(t, x, sql, nil); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	if rows := scannertest.Rows(t, scannertest.Prepare(t, x, `SELECT "at" FROM "My Moves" WHERE "at" > :now`), map[string]any{"now": at}); len(rows) != 0 {
		t.Errorf("%s is after :now", rows[0].Values[0])
	}
	_ = x.Close()
	names, err := s.Tables(t.Context())
	if err != nil || strings.Join(names, ", ") != `"My Moves", latest` {
		t.Fatalf("tables %q, %v", names, err)
	}
	table, err := s.Table(t.Context(), names[0])
	if err != nil || table.Columns[4].Name != `"order"` || table.Columns[0].Name != "Id" {
		t.Errorf("%+v, %v", table, err)
	}
}

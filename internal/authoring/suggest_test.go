package authoring

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // opens the file that the test fills

	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/sqlite"
)

// TestSuggestions asks a database about names that it does not know.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "wms.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE bin_stock (wh_id INTEGER, qty_on_hand NUMERIC); CREATE TABLE waves (id INTEGER, released_at TEXT)"); err != nil {
		t.Fatal(err)
	}
	source, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + file})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	for text, want := range map[string]string{
		"SELECT wh_id FROM bin_stok":                        `did you mean "bin_stock"?`,
		"SELECT w.id FROM waves w JOIN binstock b ON 1 = 1": `did you mean "bin_stock"?`,
		"SELECT qty_onhand FROM bin_stock":                  `did you mean "qty_on_hand"?`,
		"SELECT b.released_at FROM bin_stock b":             "columns: qty_on_hand, wh_id",
		"SELECT colaesce(wh_id, 0) AS n FROM bin_stock":     `did you mean "coalesce"?`,
		"SELECT NVL(wh_id, 0) AS n FROM bin_stock":          "write coalesce(a, b)",
		"SELECT wh_id FROM nothing_like_it":                 "",
	} {
		stmt, faults := probe.Parse(text)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		_, err := source.Prepare(t.Context(), stmt)
		suggest(t.Context(), source, text, err)
		if scan, ok := err.(*scanners.Error); !ok || scan.Hint != want { //nolint:errorlint // as Prepare returns it
			t.Errorf("%s: %v, want the hint %q", text, err, want)
		}
	}
}

// TestUnknownNames has messages of databases for which no test has a server, and of a database that does not name the
// table.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Invalid object name 'dbo.bin_stok'. [error 208]":                     "table bin_stok",
		"Invalid column name 'qtty'. [error 207]":                             "column qtty",
		"'colaesce' is not a recognized built-in function name. [error 195]":  "function colaesce",
		`ORA-00942: table or view "WMS"."BIN_STOK" does not exist`:            "table BIN_STOK",
		"ORA-00942: table or view does not exist":                             "table ",
		`ORA-00904: "B"."QTTY": invalid identifier`:                           "column or function QTTY",
		"column b.qtty does not exist (line 2 of the probe) [SQLSTATE 42703]": "column qtty",
		`relation "wms.bin_stok" does not exist [SQLSTATE 42P01]`:             "table bin_stok",
		"Table 'wms.bin_stok' doesn't exist [error 1146, SQLSTATE 42S02]":     "table bin_stok",
		"FUNCTION wms.colaesce does not exist [error 1305, SQLSTATE 42000]":   "function colaesce",
	} {
		kind, name, _ := scanners.UnknownName(message)
		if got := string(kind) + " " + name; got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
	if kind, name, found := scanners.UnknownName("division by zero"); found {
		t.Errorf("%s %s", kind, name)
	}
	tables := map[string][]string{"BIN_STOCK": nil}
	if got := firstUnknown("SELECT a FROM bin_stock b JOIN wms.bin_stok c ON 1 = 1", tables); got != "bin_stok" {
		t.Errorf("the unknown table is %q", got)
	}
}

// deaf is a source that does not answer about names.
type deaf struct{ scanners.Source }

func (deaf) Names() string { return "SELECT a, b FROM c" }

func (deaf) Prepare(context.Context, *probe.Statement) (scanners.PreparedProbe, error) {
	return nil, refusal(scanners.CodeUnreachable)
}

func TestNoSuggestionWithoutACatalogue(t *testing.T) {
	t.Parallel()
	err := &scanners.Error{Code: scanners.CodeStatement, Hint: "as before", Err: noTableError{}}
	if suggest(t.Context(), deaf{}, "SELECT a FROM b", err); err.Hint != "as before" {
		t.Error(err.Hint)
	}
}

type noTableError struct{}

func (noTableError) Error() string { return strings.ToLower("NO such table: b") }

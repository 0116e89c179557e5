package schema_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/schema"
)

const (
	expandHeader   = "-- phase: expand\n-- locks: stock\n-- lasts: under 1 s\n"
	contractHeader = "-- phase: contract\n-- oldest: 101\n-- locks: stock\n-- lasts: under 1 s\n"

	baseline = expandHeader + "-- +goose Up\nCREATE TABLE stock (sku TEXT, old TEXT);\n" +
		"CREATE TABLE schema_oldest (version INTEGER);\nINSERT INTO schema_oldest VALUES (100);\n"
	expand   = expandHeader + "-- +goose Up\nALTER TABLE stock ADD COLUMN new TEXT;\n"
	contract = contractHeader + "-- +goose Up\nALTER TABLE stock DROP COLUMN old;\nUPDATE schema_oldest SET version = 101;\n"
)

// program returns the schema of a program with these migrations, the first of which is 100.
func program(migrations ...string) schema.Schema {
	files := fstest.MapFS{}
	for i, text := range migrations {
		files["migrations/0010"+string(rune('0'+i))+"_step.sql"] = &fstest.MapFile{Data: []byte(text)}
	}
	return schema.Schema{Dialect: goose.DialectSQLite3, Files: files}
}

// A newer version expands the ledger, and both versions can use the ledger until the contract step.
func TestTwoVersionsShareALedgerUntilTheContractStep(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	before, after := program(baseline), program(baseline, expand, contract)
	apply := func(up schema.Migrate, want int) {
		t.Helper()
		if applied, err := up(t.Context(), db); err != nil || len(applied) != want {
			t.Fatalf("applied %+v, want %d: %v", applied, want, err)
		}
	}
	check := func(s schema.Schema, have, oldest int64, want error) {
		t.Helper()
		if err := s.Check(have, oldest); !errors.Is(err, want) {
			t.Errorf("at %d, oldest %d: got %v, want %v", have, oldest, err, want)
		}
	}
	apply(before.Up, 1)
	check(before, 100, 100, nil)
	check(after, 100, 100, ledger.ErrSchema)

	apply(after.Expand, 1)
	check(before, 101, 100, nil)
	check(after, 101, 100, nil)
	apply(before.Up, 0)
	apply(before.Expand, 0)
	status, err := before.Status(t.Context(), db)
	if err != nil || len(status) != 2 || status[1].Version != 101 || status[1].Name != "" || status[1].Applied.IsZero() {
		t.Errorf("the version before sees %+v, %v", status, err)
	}

	apply(after.Up, 1)
	check(before, 102, 101, ledger.ErrNewer)
	check(after, 102, 101, nil)
	if _, err := before.Up(t.Context(), db); !errors.Is(err, ledger.ErrNewer) {
		t.Errorf("the version before migrates after the contract step: %v", err)
	}
	if status, err := before.Status(t.Context(), db); !errors.Is(err, ledger.ErrNewer) || len(status) != 3 {
		t.Errorf("the version before sees %+v, %v", status, err)
	}
	check(before, 102, 0, ledger.ErrNewer) // The ledger does not say which versions may use it.
}

func TestMigrationWithoutItsHeaderIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"-- +goose Up\nSELECT 1;\n", "locks"},
		{strings.Replace(expand, "-- lasts: under 1 s\n", "", 1), "lasts"},
		{strings.Replace(expand, "-- phase: expand\n", "", 1), "phase"},
		{strings.Replace(expand, "expand", "both", 1), "phase"},
		{"-- oldest: 100\n" + expand, "oldest"},
		{strings.Replace(contract, "-- oldest: 101\n", "", 1), "oldest"},
		{strings.Replace(contract, "-- oldest: 101\n", "-- oldest: 102\n", 1), "oldest"},
		{strings.Replace(contract, "UPDATE schema_oldest SET version = 101;", "", 1), "UPDATE schema_oldest SET version = 101"},
	} {
		if _, err := program(baseline, expand, c.text).Steps(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot %v, want an error about %s", c.text, err, c.want)
		}
	}
}

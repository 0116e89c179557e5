package sqlserver

import (
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
	"tallyman/scanners/sqldb/sqldbtest"
)

// exists is the answer to the query for schemas of the name.
func exists(n int64) sqldbtest.Answer {
	return sqldbtest.Answer{Match: "sys.schemas", Columns: []sqldbtest.Column{{Name: "n"}}, Rows: [][]driver.Value{{n}}}
}

// statements returns the statements of the log.
func statements(fake *sqldbtest.Fake) []string {
	log := slices.DeleteFunc(fake.Log(), func(line string) bool { return line == "close" })
	for i := range log {
		log[i] = strings.TrimSpace(log[i])
	}
	return log
}

// TestScratch tests all statements of a scratch schema besides the tables of the suite.
func TestScratch(t *testing.T) {
	t.Parallel()
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{exists(0)}}
	s, err := sqldb.MakeScratch(t.Context(), scratchSpec(fake.Connector(), "try_it"), &scanners.Scratch{Schema: "try_it"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Exec(t.Context(), "CREATE TABLE try_it.sample (id int)"), s.Drop(t.Context())); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"SELECT count(*) FROM sys.schemas WHERE name = N'try_it'", "CREATE SCHEMA try_it", "CREATE TABLE try_it.sample (id int)",
		"DECLARE @drop nvarchar(max) = N''; SELECT @drop += N'DROP TABLE ' + QUOTENAME(SCHEMA_NAME(schema_id)) + N'.' + QUOTENAME(name) + N'; ' FROM sys.tables WHERE schema_id = SCHEMA_ID(N'try_it'); EXEC sp_executesql @drop;",
		"DROP SCHEMA try_it",
	}
	if got := statements(fake); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestScratchThatExists tests that an existing schema is not changed.
func TestScratchThatExists(t *testing.T) {
	t.Parallel()
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{exists(1)}}
	if _, err := sqldb.MakeScratch(t.Context(), scratchSpec(fake.Connector(), "try_it"), &scanners.Scratch{}); !errors.Is(err, scanners.ErrSchemaExists) {
		t.Error(err)
	}
	if got := statements(fake); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestScratchThatIsRefused tests that a failure leaves nothing, and drops nothing.
func TestScratchThatIsRefused(t *testing.T) {
	t.Parallel()
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{exists(0), {Match: "CREATE SCHEMA", Err: mssql.Error{Number: 262, Message: "permission denied"}}}}
	if _, err := sqldb.MakeScratch(t.Context(), scratchSpec(fake.Connector(), "try_it"), &scanners.Scratch{}); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
	if got := statements(fake); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

package oracle

import (
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
	"tallyman/scanners/sqldb/sqldbtest"
)

// TestScratch tests all statements of a scratch schema besides the tables of the suite. The user of the schema creates
// the tables.
func TestScratch(t *testing.T) {
	t.Parallel()
	none := sqldbtest.Answer{Match: "all_users", Columns: []sqldbtest.Column{{Name: "n"}}, Rows: [][]driver.Value{{int64(0)}}}
	maker, owner := &sqldbtest.Fake{Answers: []sqldbtest.Answer{none}}, &sqldbtest.Fake{}
	s, err := sqldb.MakeScratch(t.Context(), scratchSpec(maker.Connector(), owner.Connector(), "try_it", "Ta1_x"), &scanners.Scratch{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Exec(t.Context(), "CREATE TABLE sample (id NUMBER(9))"), s.Drop(t.Context())); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"SELECT COUNT(*) FROM all_users WHERE username = 'TRY_IT'", `CREATE USER try_it IDENTIFIED BY "Ta1_x"`,
		"GRANT CREATE SESSION, CREATE TABLE, UNLIMITED TABLESPACE TO try_it", "DROP USER try_it CASCADE",
	}
	if got := statements(maker); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := statements(owner); !slices.Equal(got, []string{"CREATE TABLE sample (id NUMBER(9))"}) {
		t.Errorf("%q", got)
	}
}

// TestScratchWithoutTheRightToGrant leaves no user.
func TestScratchWithoutTheRightToGrant(t *testing.T) {
	t.Parallel()
	none := sqldbtest.Answer{Match: "all_users", Columns: []sqldbtest.Column{{Name: "n"}}, Rows: [][]driver.Value{{int64(0)}}}
	maker := &sqldbtest.Fake{Answers: []sqldbtest.Answer{none, {Match: "GRANT", Err: errors.New("ORA-01031: insufficient privileges")}}}
	if _, err := sqldb.MakeScratch(t.Context(), scratchSpec(maker.Connector(), maker.Connector(), "try_it", "Ta1_x"), &scanners.Scratch{}); err == nil || !strings.Contains(err.Error(), "ORA-01031") {
		t.Error(err)
	}
	if got := statements(maker); len(got) != 4 || got[3] != "DROP USER try_it CASCADE" {
		t.Errorf("%q", got)
	}
}

// TestPasswords tests that passwords differ, and meet the rules of servers.
func TestPasswords(t *testing.T) {
	t.Parallel()
	if a, b := newPassword(), newPassword(); a == b || len(a) > 30 || !strings.HasPrefix(a, "Ta1_") {
		t.Errorf("%q, %q", a, b)
	}
}

// statements returns the statements of the log.
func statements(fake *sqldbtest.Fake) []string {
	log := slices.DeleteFunc(fake.Log(), func(line string) bool { return line == "close" })
	for i := range log {
		log[i] = strings.TrimSpace(log[i])
	}
	return log
}

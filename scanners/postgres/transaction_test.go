package postgres_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/postgres"
	"tallyman/scanners/scannertest"
)

// TestStagedWithoutPrivilege is for a user that may only read. It can have sessions, but staged tables only with
// TEMPORARY.
func TestStagedWithoutPrivilege(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	database := strings.Trim(address.Path, "/")
	user := "reader_" + database
	owner := address.String()
	exec(t, owner, "CREATE TABLE bins (id int); INSERT INTO bins VALUES (1); CREATE ROLE "+user+" LOGIN PASSWORD 'x'; GRANT SELECT ON bins TO "+user+
		"; REVOKE TEMPORARY ON DATABASE "+database+" FROM PUBLIC; CREATE TABLE hidden (id int)")
	t.Cleanup(func() { exec(t, owner, "DROP OWNED BY "+user+"; DROP ROLE "+user) })
	address.User = url.UserPassword(user, "x")
	s := open(t, postgres.Config{URL: address.String(), MaxConnections: 1})

	staged := scanners.StagedTable{Table: "bins", Columns: []row.Column{{Name: "id"}}, Rows: [][]row.Value{{row.IntOf(7)}}}
	_, err = s.Session(t.Context(), []scanners.StagedTable{staged})
	wantCode(t, "no privilege", err, scanners.CodeStage, "GRANT TEMPORARY")
	x, err := s.Session(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := scannertest.One(t, x, "SELECT id FROM bins", nil); got != "1" {
		t.Errorf("id %s", got)
	}
	_ = x.Close()

	exec(t, owner, "GRANT TEMPORARY ON DATABASE "+database+" TO "+user)
	x, err = s.Session(t.Context(), []scanners.StagedTable{staged})
	if err != nil {
		t.Fatal(err)
	}
	if got := scannertest.One(t, x, "SELECT id FROM bins", nil); got != "7" {
		t.Errorf("staged id %s", got)
	}
	_ = x.Close()
	if names, err := s.Tables(t.Context()); err != nil || len(names) != 1 || names[0] != "bins" {
		t.Errorf("tables %q, %v", names, err)
	}
}

// TestStagedDefaults leaves out columns whose defaults would write. The sequences of the real table must not move.
func TestStagedDefaults(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	exec(t, address, `CREATE TABLE log (x int); CREATE SEQUENCE numbers;
		CREATE FUNCTION next() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT nextval(''numbers'')';
		CREATE FUNCTION logged() RETURNS int LANGUAGE sql VOLATILE AS 'INSERT INTO log VALUES (1); SELECT 1';
		CREATE TABLE waves (id serial PRIMARY KEY, no bigint NOT NULL DEFAULT nextval('numbers'), name text, age interval);
		CREATE TABLE hooked (no bigint DEFAULT next(), name text); CREATE TABLE logs (no int DEFAULT logged(), name text)`)
	s := open(t, postgres.Config{URL: address})
	names := func(table string) scanners.StagedTable {
		return scanners.StagedTable{Table: table, Columns: []row.Column{{Name: "name"}}, Rows: [][]row.Value{{row.TextOf("a")}, {row.TextOf("b")}}}
	}
	for _, table := range []string{"hooked", "logs"} {
		_, err := s.Session(t.Context(), []scanners.StagedTable{names(table)})
		wantCode(t, table, err, scanners.CodeStage, "row 1")
	}
	waves := names("waves")
	waves.Columns = append(waves.Columns, row.Column{Name: "age", Kind: row.Duration})
	for i := range waves.Rows {
		waves.Rows[i] = append(waves.Rows[i], row.DurationOf(90*time.Minute))
	}
	x, err := s.Session(t.Context(), []scanners.StagedTable{waves})
	if err != nil {
		t.Fatal(err)
	}
	if got := scannertest.One(t, x, "SELECT string_agg(id || ' ' || no || ' ' || name || ' ' || age, ', ' ORDER BY id) AS v FROM waves", nil); got != "1 1 a 01:30:00, 2 2 b 01:30:00" {
		t.Error(got)
	}
	_ = x.Close()
	if got := scannertest.One(t, s, "SELECT (SELECT count(*) FROM log) || ' ' || (SELECT is_called FROM numbers) || ' ' || (SELECT is_called FROM waves_id_seq) AS v", nil); got != "0 false false" {
		t.Errorf("the database has changed: %s", got)
	}
}

// TestSessionsConnectionDies has a server that ends the session. The error says so, and the source still works.
func TestSessionsConnectionDies(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	s := open(t, postgres.Config{URL: address, MaxConnections: 1})
	x, err := s.Session(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := scannertest.Prepare(t, x, "SELECT 1 AS one")
	exec(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tallyman' AND datname = current_database()")
	_, err = p.Scan(t.Context(), scanners.Request{}, ignore)
	wantCode(t, "the session's connection is gone", err, scanners.CodeUnreachable, "")
	_, err = p.Scan(t.Context(), scanners.Request{}, ignore)
	wantCode(t, "the session is over", err, scanners.CodeFailed, "session is over")
	_ = x.Close()
	if got := scannertest.One(t, s, "SELECT 1 AS one", nil); got != "1" {
		t.Error(got)
	}
}

// TestQuotedNames inspects and stages tables whose names need quotes.
func TestQuotedNames(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	exec(t, address, `CREATE SCHEMA other; CREATE TABLE other.bins (id int); CREATE TABLE "Bin ""x""" ("Code" text PRIMARY KEY, "order" int, qty money)`)
	s := open(t, postgres.Config{URL: address})
	names, err := s.Tables(t.Context())
	if err != nil || strings.Join(names, " ") != `"Bin ""x""" other.bins` {
		t.Fatalf("%s, %v", names, err)
	}
	table, err := s.Table(t.Context(), names[0])
	if err != nil || table.Name != names[0] || table.Columns[0].Name != `"Code"` || table.Columns[1].Name != `"order"` || table.PrimaryKey[0] != `"Code"` {
		t.Errorf("%+v, %v", table, err)
	}
	x, err := s.Session(t.Context(), []scanners.StagedTable{{Table: names[0], Columns: []row.Column{{Name: "code"}, {Name: "ORDER"}}, Rows: [][]row.Value{{row.TextOf("A"), row.IntOf(3)}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	if got := scannertest.One(t, x, `SELECT "Code" || "order" AS v FROM `+names[0], nil); got != "A3" {
		t.Error(got)
	}
}

package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tallyman/docs/codetest"
	"tallyman/internal/testenv"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

func statement(t *testing.T, sql string) *probe.Statement {
	t.Helper()
	stmt, faults := probe.Parse(sql)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return stmt
}

func run(t *testing.T, address, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// TestUnresolved has a server, or a pooler before it, that does not send the query trees. Then nothing runs.
func TestUnresolved(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{URL: testenv.Postgres(t)})
	if err != nil {
		t.Fatal(err)
	}
	silent := s.pool.Config()
	s.pool.Close()
	silent.ConnConfig.OnNotice = nil
	if s.pool, err = pgxpool.NewWithConfig(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	_, err = s.Prepare(t.Context(), statement(t, "SELECT 1 AS n"))
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code != scanners.CodeUnresolved || e.Transient {
		t.Fatal(err)
	}
	codetest.Outcome(t, "../../docs/reference/error-codes.md", "Failed runs", string(e.Code), err.Error()+"\n")
}

// TestLargeTree has a probe whose tree is larger than the source accepts. The probe does not run, and the source still
// works.
func TestLargeTree(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{URL: testenv.Postgres(t), MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	_, err = s.Prepare(t.Context(), statement(t, "SELECT 1 AS n WHERE 1 IN ("+strings.Repeat("1, ", 30_000)+"1)"))
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code != scanners.CodeUnresolved || !strings.Contains(err.Error(), "max_row_bytes") {
		t.Errorf("%.300v", err)
	}
	if _, err := s.Prepare(t.Context(), statement(t, "SELECT 1 AS n")); err != nil {
		t.Error(err)
	}
}

// TestReplaced replaces an object that a prepared statement uses. After a minute the next scan refuses to run it, and
// Prepare judges it again.
func TestReplaced(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	run(t, address, `CREATE TABLE bins (id int); INSERT INTO bins VALUES (1); CREATE VIEW shown AS SELECT id FROM bins; CREATE VIEW around AS SELECT id FROM shown;
		CREATE FUNCTION inner_id(x int) RETURNS int LANGUAGE sql STABLE AS 'SELECT x'; CREATE FUNCTION outer_id(x int) RETURNS int LANGUAGE sql STABLE AS 'SELECT inner_id(x)';
		CREATE DOMAIN small AS int CHECK (VALUE < 10)`)
	s, err := Open(t.Context(), Config{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for sql, replace := range map[string]string{
		"SELECT id FROM around":                    "CREATE OR REPLACE VIEW shown AS SELECT id + pg_sleep(0)::text::int AS id FROM bins",
		"SELECT outer_id(id) AS id FROM bins":      "CREATE OR REPLACE FUNCTION inner_id(x int) RETURNS int LANGUAGE sql STABLE AS 'SELECT x + pg_terminate_backend(0)::int'",
		"SELECT id::small::int AS id FROM bins":    "CREATE FUNCTION noisy(x int) RETURNS boolean LANGUAGE sql AS 'SELECT true'; ALTER DOMAIN small ADD CHECK (noisy(VALUE))",
		"SELECT b.id FROM bins AS b WHERE id = :x": "CREATE FUNCTION mine() RETURNS boolean LANGUAGE sql AS 'SELECT true'; CREATE POLICY p ON bins USING (mine()); ALTER TABLE bins FORCE ROW LEVEL SECURITY, ENABLE ROW LEVEL SECURITY",
	} {
		p, err := s.Prepare(t.Context(), statement(t, sql))
		if err != nil {
			t.Fatal(err)
		}
		scan := func() error {
			_, err := p.Scan(t.Context(), scanners.Request{Args: map[string]any{"x": 1}}, func(*row.Row) error { return nil })
			return err
		}
		p.(*prepared).watched.Store(0)
		if err := scan(); err != nil {
			t.Errorf("%s: unchanged: %v", sql, err)
		}
		run(t, address, replace)
		p.(*prepared).watched.Store(0)
		var e *scanners.Error
		if err := scan(); !errors.As(err, &e) || e.Code != scanners.CodeChanged {
			t.Errorf("%s: after %s: %v", sql, replace, err)
		}
		if strings.Contains(replace, "POLICY") {
			continue // a superuser is above policies, also while it prepares
		}
		if _, err := s.Prepare(t.Context(), statement(t, sql)); !errors.As(err, &e) || e.Code != scanners.CodeFunction {
			t.Errorf("%s: prepared after %s: %v", sql, replace, err)
		}
	}
}

// TestUnknownNode has a tree of an unknown version. Its calls are not guessed.
func TestUnknownNode(t *testing.T) {
	t.Parallel()
	if _, err := readTree("({QUERY :commandType 1 :x {SELFDESTRUCT :funcid 1}})"); err == nil || !strings.Contains(err.Error(), "SELFDESTRUCT") {
		t.Error(err)
	}
}

// FuzzTree reads trees with a name of any characters, escaped as PostgreSQL does. The fields around the name must be
// found.
func FuzzTree(f *testing.F) {
	for _, name := range []string{"a", ":funcid", "x } {FUNCEXPR :funcid 1", "(", "\\", "\n", "<>", "ä", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if _, err := readTree(name); err != nil && !strings.Contains(name, "{") {
			t.Errorf("%q: %v", name, err)
		}
		if strings.ContainsRune(name, 0) {
			return // no name has it
		}
		text := "({QUERY :commandType 1 :targetList ({TARGETENTRY :expr {FUNCEXPR :funcid 2096 :funcresulttype 16 :args <>} :resno 1 :resname " + escaped(name) +
			" :ressortgroupref 0} {TARGETENTRY :expr {ROWCOMPAREEXPR :opnos (o 97 521) :colnames (\"" + escaped(name) + "\") :opno 96} :resname " + escaped(name) + "})})"
		tree, err := readTree(text)
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		for _, want := range []struct {
			list []uint32
			oid  uint32
		}{{tree.functions, 2096}, {tree.types, 16}, {tree.operators, 97}, {tree.operators, 521}, {tree.operators, 96}, {tree.commands, 1}} {
			found := false
			for _, oid := range want.list {
				found = found || oid == want.oid
			}
			if !found {
				t.Errorf("with the name %q, %d is not found in %+v", name, want.oid, tree)
			}
		}
	})
}

// escaped writes a name as PostgreSQL's outToken does.
func escaped(name string) string {
	if name == "" {
		return "<>"
	}
	var b strings.Builder
	if c := name[0]; c == '<' || c == '"' || '0' <= c && c <= '9' || (c == '+' || c == '-') && len(name) > 1 && (name[1] == '.' || '0' <= name[1] && name[1] <= '9') {
		b.WriteByte('\\')
	}
	for _, c := range []byte(name) {
		if strings.IndexByte(" \n\t(){}\\", c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

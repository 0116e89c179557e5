package mysql_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
	"tallyman/scanners/scannertest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// server is a database behind a proxy, which can make it unreachable. The source's user has the grants of
// docs/how-to/set-up-a-source.md.
type server struct {
	testenv.MariaDatabase
	proxied string
	proxy   *testenv.Proxy
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{MariaDatabase: testenv.MariaDB(t)}
	s.proxy = testenv.NewProxy(t, s.Addr)
	reader := "reader_" + s.Name
	exec(t, s.MariaDatabase, strings.ReplaceAll(strings.ReplaceAll(`CREATE USER READER IDENTIFIED BY 'reader';
		GRANT SELECT, EXECUTE, SHOW VIEW, CREATE TEMPORARY TABLES ON DATABASE.* TO READER`, "READER", reader), "DATABASE", s.Name))
	u := url.URL{Scheme: "mysql", User: url.UserPassword(reader, "reader"), Host: s.proxy.Addr, Path: "/" + s.Name}
	s.proxied = u.String()
	return s
}

func (s *server) Exec(t scannertest.T, statements string) {
	t.Helper()
	exec(t, s.MariaDatabase, statements)
}

func exec(t scannertest.T, d testenv.MariaDatabase, statements string) {
	t.Helper()
	db := owner(t, d)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func owner(t scannertest.T, d testenv.MariaDatabase) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", d.DSN())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (s *server) Open(t scannertest.T, maxConnections int) scanners.Source {
	t.Helper()
	// Allow the functions that Prepare would refuse, so that the checks behind Prepare are tested.
	var allowed []string
	for _, name := range []string{"writer", "writer_aria", "writer_memory", "unlocked", "mover", "zone", "clock", "mode", "hold", "held"} {
		allowed = append(allowed, s.Name+"."+name)
	}
	return open(t, mysql.Config{URL: s.proxied, MaxConnections: maxConnections, Functions: scanners.Functions{Allowed: allowed}})
}

func (s *server) Limited(t scannertest.T, limits scanners.Limits) scanners.Source {
	t.Helper()
	return open(t, mysql.Config{URL: s.proxied, MaxConnections: 1, Limits: limits})
}

func open(t scannertest.T, config mysql.Config) *mysql.Source {
	t.Helper()
	source, err := mysql.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

// Schema is the name of the database: MySQL has no other schemas.
func (s *server) Schema() string { return s.Name }

func (s *server) Cut(scannertest.T)     { s.proxy.Cut() }
func (s *server) Restore(scannertest.T) { s.proxy.Point(s.Addr) }

func dialect() scannertest.Dialect {
	d := scannertest.MySQL(true)
	d.New = func(t scannertest.T) scannertest.Database { t.Helper(); return newServer(t.(testing.TB)) }
	if testing.Short() {
		d.Stream = 40_000
	}
	return d
}

func TestSuite(t *testing.T) {
	t.Parallel()
	scannertest.Run(t, dialect())
}

func TestLargeRows(t *testing.T) { //nolint:paralleltest // it measures the process
	testenv.Slow(t)
	scannertest.Memory(t, dialect())
}

package mysql_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
	"tallyman/scanners/scannertest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// server is a database behind a proxy, so that it can go out of reach.
type server struct {
	testenv.MariaDatabase
	proxied string
	proxy   *testenv.Proxy
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{MariaDatabase: testenv.MariaDB(t)}
	s.proxy = testenv.NewProxy(t, s.Addr)
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Host = s.proxy.Addr
	s.proxied = u.String()
	return s
}

func (s *server) Exec(t testing.TB, statements string) {
	t.Helper()
	exec(t, s.MariaDatabase, statements)
}

func exec(t testing.TB, d testenv.MariaDatabase, statements string) {
	t.Helper()
	db := owner(t, d)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func owner(t testing.TB, d testenv.MariaDatabase) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", d.DSN())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (s *server) Open(t testing.TB, maxConnections int) scanners.Source {
	t.Helper()
	return open(t, mysql.Config{URL: s.proxied, MaxConnections: maxConnections})
}

func open(t testing.TB, config mysql.Config) *mysql.Source {
	t.Helper()
	source, err := mysql.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

func (s *server) Cut(testing.TB)     { s.proxy.Cut() }
func (s *server) Restore(testing.TB) { s.proxy.Point(s.Addr) }

func dialect() scannertest.Dialect {
	return scannertest.Dialect{
		New: func(t testing.TB) scannertest.Database { t.Helper(); return newServer(t) },
		Types: map[string]string{
			"bool": "boolean", "small": "smallint", "big": "bigint", "ratio": "double", "decimal": "decimal(12,3)", "text": "text",
			"bytes": "blob", "date": "date", "time": "datetime(6)", "zoned": "timestamp(6) NULL", "json": "json",
		},
		Bytes:   "x'00ff'",
		Zoned:   "'2026-06-01 00:00:00'",
		Series:  "SELECT seq AS n, CONCAT('SKU-', seq %% 97) AS sku, seq * 0.25 AS qty, 'a note' AS note FROM seq_1_to_%d",
		Endless: "SELECT count(*) AS n FROM seq_1_to_100000 a, seq_1_to_100000000 b WHERE a.seq + b.seq > 0",
		Trickle: "SELECT 1 AS n UNION ALL SELECT b.seq FROM seq_1_to_100000 a, seq_1_to_1000000 b WHERE a.seq + b.seq < 0",
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	scannertest.Run(t, dialect())
}

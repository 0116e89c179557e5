package mysql_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
	"tallyman/scanners/scannertest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// server is a database behind a proxy, so that it can go out of reach. The source's user is granted what docs/operations.md says.
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
	// What Prepare would refuse is allowed, so that the locks behind it are tried.
	var allowed []string
	for _, name := range []string{"writer", "writer_aria", "writer_memory", "unlocked", "mover", "zone", "clock", "mode", "hold", "held"} {
		allowed = append(allowed, s.Name+"."+name)
	}
	return open(t, mysql.Config{URL: s.proxied, MaxConnections: maxConnections, Functions: scanners.Functions{Allowed: allowed}})
}

func (s *server) Limited(t testing.TB, limits scanners.Limits) scanners.Source {
	t.Helper()
	return open(t, mysql.Config{URL: s.proxied, MaxConnections: 1, Limits: limits})
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

// Schema is the name of the database: MySQL has no other schemas.
func (s *server) Schema() string { return s.Name }

func (s *server) Cut(testing.TB)     { s.proxy.Cut() }
func (s *server) Restore(testing.TB) { s.proxy.Point(s.Addr) }

func dialect() scannertest.Dialect {
	return scannertest.Dialect{
		New: func(t testing.TB) scannertest.Database { t.Helper(); return newServer(t) },
		Types: map[string]string{
			"bool": "boolean", "small": "smallint", "big": "bigint", "ratio": "double", "decimal": "decimal(12,3)", "text": "text",
			"bytes": "blob", "date": "date", "time": "datetime(6)", "zoned": "timestamp(6) NULL", "json": "json",
		},
		Bytes:  "x'00ff'",
		Zoned:  "'2026-06-01 00:00:00'",
		Series: "SELECT seq AS n, CONCAT('SKU-', seq %% 97) AS sku, seq * 0.25 AS qty, 'a note' AS note FROM seq_1_to_%d",
		Repeat: "repeat('x', %d)", LargeSetup: "SET GLOBAL max_allowed_packet = 1073741824",
		Endless: "SELECT count(*) AS n FROM seq_1_to_100000 a, seq_1_to_100000000 b WHERE a.seq + b.seq > 0",
		Kinds:   map[string]row.Kind{"json": row.Text}, // a LONGTEXT with a check
		Trickle: "SELECT 1 AS n UNION ALL SELECT b.seq FROM seq_1_to_100000 a, seq_1_to_1000000 b WHERE a.seq + b.seq < 0",
		WriterSetup: `
			CREATE TABLE kept (id int) ENGINE = InnoDB; CREATE TABLE kept_aria (id int) ENGINE = Aria; CREATE TABLE kept_memory (id int) ENGINE = MEMORY;
			CREATE SEQUENCE seq; CREATE SEQUENCE hidden;
			CREATE FUNCTION writer() RETURNS int MODIFIES SQL DATA BEGIN INSERT INTO kept VALUES (1); RETURN 1; END;
			CREATE FUNCTION writer_aria() RETURNS int MODIFIES SQL DATA BEGIN INSERT INTO kept_aria VALUES (1); RETURN 1; END;
			CREATE FUNCTION writer_memory() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM kept_memory; RETURN 1; END;
			CREATE FUNCTION unlocked() RETURNS int MODIFIES SQL DATA BEGIN SET SESSION tx_read_only = 0; UPDATE kept SET id = 2; RETURN 1; END;
			CREATE FUNCTION mover() RETURNS bigint MODIFIES SQL DATA RETURN NEXT VALUE FOR hidden`,
		Writers: []string{
			"SELECT writer() AS n", "SELECT writer_aria() AS n", "SELECT writer_memory() AS n", "SELECT unlocked() AS n", "SELECT mover() AS n",
			"SELECT id FROM sample WHERE writer() = 1", "SELECT NEXT VALUE FOR seq AS n",
		},
		LeakSetup: `
			CREATE FUNCTION zone(name varchar(50)) RETURNS int BEGIN SET time_zone = name; RETURN 1; END;
			CREATE FUNCTION clock() RETURNS int BEGIN SET max_statement_time = 0; RETURN 1; END;
			CREATE FUNCTION mode() RETURNS int BEGIN SET sql_mode = ''; RETURN 1; END;
			CREATE FUNCTION hold() RETURNS int BEGIN DO GET_LOCK('tallyman', 0); RETURN 1; END;
			CREATE FUNCTION held() RETURNS int RETURN COALESCE(IS_USED_LOCK('tallyman') = CONNECTION_ID(), 0)`,
		Leaks: []string{
			"SELECT zone('+09:00') AS n", "SELECT clock() AS n", "SELECT mode() AS n", "SELECT hold() AS n", "SELECT LAST_INSERT_ID(42) AS n",
		},
		State:          "SELECT CONCAT_WS(' ', @@time_zone, @@max_statement_time, @@sql_mode, held(), LAST_INSERT_ID()) AS state",
		StagedInSchema: true,
		Stock: `CREATE TABLE stock (id int PRIMARY KEY AUTO_INCREMENT, wh_id int NOT NULL, bin_code varchar(40) NOT NULL, qty decimal(12,3) NOT NULL CHECK (qty < 1000),
			reserved decimal(12,3) NOT NULL DEFAULT 0, free decimal(12,3) AS (qty - reserved) VIRTUAL, UNIQUE (wh_id, bin_code))`,
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	scannertest.Run(t, dialect())
}

func TestLargeRows(t *testing.T) { //nolint:paralleltest // it measures the process
	testenv.Slow(t)
	scannertest.Memory(t, dialect())
}

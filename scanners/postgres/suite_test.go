package postgres_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
	"tallyman/scanners"
	"tallyman/scanners/postgres"
	"tallyman/scanners/scannertest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// server is a database behind a proxy, so that it can go out of reach.
type server struct {
	owner   string // past the proxy
	proxied string
	addr    string
	proxy   *testenv.Proxy
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{owner: testenv.Postgres(t)}
	u, err := url.Parse(s.owner)
	if err != nil {
		t.Fatal(err)
	}
	s.addr = u.Host
	s.proxy = testenv.NewProxy(t, s.addr)
	u.Host = s.proxy.Addr
	s.proxied = u.String()
	return s
}

func (s *server) Exec(t testing.TB, statements string) {
	t.Helper()
	exec(t, s.owner, statements)
}

func exec(t testing.TB, url, statements string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // also used by clean-ups
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func (s *server) Open(t testing.TB, maxConnections int) scanners.Source {
	t.Helper()
	// What Prepare would refuse is allowed, so that the locks behind it are tried.
	allowed := []string{"public.writer", "public.unlocked", "public.maker", "public.mover", "public.leak", "public.hold", "public.remember", "public.hear"}
	return open(t, postgres.Config{URL: s.proxied, MaxConnections: maxConnections, Functions: scanners.Functions{Allowed: allowed}})
}

func (s *server) Limited(t testing.TB, limits scanners.Limits) scanners.Source {
	t.Helper()
	return open(t, postgres.Config{URL: s.proxied, MaxConnections: 1, Limits: limits})
}

func open(t testing.TB, config postgres.Config) *postgres.Source {
	t.Helper()
	source, err := postgres.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

func (s *server) Cut(testing.TB)     { s.proxy.Cut() }
func (s *server) Restore(testing.TB) { s.proxy.Point(s.addr) }

func dialect() scannertest.Dialect {
	return scannertest.Dialect{
		New: func(t testing.TB) scannertest.Database { t.Helper(); return newServer(t) },
		Types: map[string]string{
			"bool": "boolean", "small": "smallint", "big": "bigint", "ratio": "double precision", "decimal": "numeric(12,3)", "text": "text",
			"bytes": "bytea", "date": "date", "time": "timestamp", "zoned": "timestamptz", "json": "json",
		},
		Bytes:   `'\x00ff'`,
		Zoned:   "'2026-06-01T08:00:00+08:00'",
		Series:  "SELECT n, 'SKU-' || n %% 97 AS sku, n * 0.25 AS qty, 'a note' AS note FROM (SELECT generate_series(1, %d) AS n) s",
		Repeat:  "repeat('x', %d)",
		Endless: "SELECT count(*) AS n FROM generate_series(1, 100000) a, generate_series(1, 100000000) b",
		Trickle: "SELECT 1 AS n UNION ALL SELECT b FROM generate_series(1, 100000) a, generate_series(1, 1000000) b WHERE a + b < 0",
		WriterSetup: `
			CREATE FUNCTION writer() RETURNS int LANGUAGE sql AS 'DELETE FROM sample; SELECT 1';
			CREATE FUNCTION unlocked() RETURNS int LANGUAGE plpgsql AS
				$$ BEGIN PERFORM set_config('transaction_read_only', 'off', false); DELETE FROM sample; RETURN 1; END $$;
			CREATE FUNCTION maker() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'CREATE TABLE made (x int)'; RETURN 1; END $$;
			CREATE SEQUENCE seq;
			CREATE FUNCTION mover() RETURNS bigint LANGUAGE sql AS 'SELECT nextval(''seq'')'`,
		Writers: []string{"SELECT writer()", "SELECT unlocked()", "SELECT maker()", "SELECT mover()", "SELECT id FROM sample WHERE writer() = 1"},
		LeakSetup: `
			CREATE FUNCTION leak(name text, value text) RETURNS text LANGUAGE sql AS 'SELECT set_config(name, value, false)';
			CREATE FUNCTION hold() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_lock(42); RETURN 1; END $$;
			CREATE FUNCTION remember() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'PREPARE stuck AS SELECT 1'; RETURN 1; END $$;
			CREATE FUNCTION hear() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'LISTEN gossip'; RETURN 1; END $$`,
		Leaks: []string{
			"SELECT leak('statement_timeout', '0') AS v", "SELECT leak('search_path', 'nowhere') AS v", "SELECT leak('timezone', 'Asia/Tokyo') AS v",
			"SELECT leak('role', 'pg_read_all_data') AS v", "SELECT hold()", "SELECT remember()", "SELECT hear()",
		},
		State: `SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('search_path'), current_setting('timezone'), current_user,
			(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()), (SELECT count(*) FROM pg_prepared_statements WHERE name <> ''),
			(SELECT count(*) FROM pg_listening_channels()), pg_backend_pid(), pg_current_xact_id_if_assigned() IS NULL) AS state`,
		Schema: "public",
		Stock: `CREATE TABLE stock (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, wh_id integer NOT NULL, bin_code text NOT NULL,
			qty numeric(12,3) NOT NULL CHECK (qty < 1000), reserved numeric(12,3) NOT NULL DEFAULT 0,
			free numeric(12,3) GENERATED ALWAYS AS (qty - reserved) STORED, UNIQUE (wh_id, bin_code))`,
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

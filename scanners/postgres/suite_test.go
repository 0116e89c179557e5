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

// server is a database behind a proxy, which can make it unreachable.
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

func (s *server) Exec(t scannertest.T, statements string) {
	t.Helper()
	exec(t, s.owner, statements)
}

func exec(t scannertest.T, url, statements string) {
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

func (s *server) Open(t scannertest.T, maxConnections int) scanners.Source {
	t.Helper()
	// Allow the functions that Prepare would refuse, so that the checks behind Prepare are tested.
	allowed := []string{"public.writer", "public.unlocked", "public.maker", "public.mover", "public.leak", "public.hold", "public.remember", "public.hear"}
	return open(t, postgres.Config{URL: s.proxied, MaxConnections: maxConnections, Functions: scanners.Functions{Allowed: allowed}})
}

func (s *server) Limited(t scannertest.T, limits scanners.Limits) scanners.Source {
	t.Helper()
	return open(t, postgres.Config{URL: s.proxied, MaxConnections: 1, Limits: limits})
}

func open(t scannertest.T, config postgres.Config) *postgres.Source {
	t.Helper()
	source, err := postgres.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

func (s *server) Cut(scannertest.T)     { s.proxy.Cut() }
func (s *server) Restore(scannertest.T) { s.proxy.Point(s.addr) }

func dialect() scannertest.Dialect {
	d := scannertest.Postgres()
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

package postgres_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/postgres"
	"tallyman/scanners/scannertest"
)

// TestKilledConnections breaks every idle connection of the pool from the server's side: the next scan does not notice.
func TestKilledConnections(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	s := open(t, postgres.Config{URL: address, MaxConnections: 3})
	p := scannertest.Prepare(t, s, "SELECT 1 AS one")
	for range 3 {
		exec(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tallyman' AND datname = current_database()")
		scannertest.Rows(t, p, nil)
	}
}

// TestNothingRunsOn cancels a scan, and exceeds a cap, and sees the statement gone from the server.
func TestNothingRunsOn(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	s := open(t, postgres.Config{URL: address})
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	p := scannertest.Prepare(t, s, "SELECT n FROM (SELECT generate_series(1, 2000000000) AS n) s /* marked */")

	ctx, cancel := context.WithCancel(t.Context())
	_, err = p.Scan(ctx, scanners.Request{}, func(*row.Row) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if got, err := p.Scan(t.Context(), scanners.Request{MaxRows: 1}, ignore); err != nil || !got.More {
		t.Errorf("capped: %+v, %v", got, err)
	}
	testenv.Eventually(t, func() bool {
		var running int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'active' AND query LIKE '%marked%' AND pid <> pg_backend_pid()`).Scan(&running)
		return err == nil && running == 0
	}, 10*time.Second)
}

// TestPoolIsFull waits for a connection no longer than the scan may take.
func TestPoolIsFull(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{URL: testenv.Postgres(t), MaxConnections: 1})
	p := scannertest.Prepare(t, s, "SELECT 1 AS one")
	_, err := p.Scan(t.Context(), scanners.Request{}, func(*row.Row) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := p.Scan(ctx, scanners.Request{}, ignore)
		wantCode(t, "the second scan", err, scanners.CodeTimeout, "max_connections")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSilentServer accepts connections and never answers.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s := open(t, postgres.Config{URL: "postgres://wms@" + l.Addr().String() + "/wms?sslmode=disable&connect_timeout=1"})
	wantCode(t, "ping", s.Ping(t.Context()), scanners.CodeUnreachable, "")
}

// TestOldDatabase has another encoding, and strings of before 2010.
func TestOldDatabase(t *testing.T) {
	t.Parallel()
	owner := testenv.Postgres(t)
	exec(t, owner, "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	t.Cleanup(func() { exec(t, owner, "DROP DATABASE latin WITH (FORCE)") })
	address, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/latin"
	exec(t, address.String(), "ALTER DATABASE latin SET standard_conforming_strings = off; CREATE TABLE skus (name text); INSERT INTO skus VALUES (U&'Gr\\00fc\\00dfe')")
	s := open(t, postgres.Config{URL: address.String()})
	if got := scannertest.One(t, s, "SELECT name FROM skus WHERE name = :x", map[string]any{"x": "Grüße"}); got != "Grüße" {
		t.Errorf("read %q", got)
	}
	if got := scannertest.One(t, s, `SELECT '\' || '; DELETE' AS v`, nil); got != `\; DELETE` {
		t.Errorf("read %q", got)
	}
}

// TestTimezoneOfTheURL is for sites whose timestamps without zone are local times.
func TestTimezoneOfTheURL(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	s := open(t, postgres.Config{URL: address + "&timezone=Asia/Shanghai"})
	if got := scannertest.One(t, s, "SELECT :now::timestamp::text AS v", map[string]any{"now": time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)}); got != "2026-06-01 08:00:00" {
		t.Errorf("local time %s", got)
	}
}

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

// TestKilledConnections breaks every idle connection of the pool on the server. The next scan does not fail.
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

// TestNothingRunsOn cancels a scan and exceeds a cap. Each time the statement must end on the server.
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

// TestPoolIsFull tests that the wait for a connection is no longer than the timeout of the scan.
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

// TestOldDatabase has a database with another encoding, and with string literals as before 2010.
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

// TestTimezone is for sites whose timestamps without zone are local times. They are read as local times, and compared
// with :now as such.
func TestTimezone(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	exec(t, address, `SET timezone = 'UTC'; CREATE TABLE moves (id int, at timestamp, stamp timestamptz);
		INSERT INTO moves VALUES (1, '2026-06-01 08:00:00.5', '2026-06-01 00:00:00.5Z'), (2, '2026-06-01 08:00:01', '2026-06-01 00:00:01Z'), (3, 'infinity', '-infinity')`)
	at := time.Date(2026, 6, 1, 0, 0, 0, 5e8, time.UTC)
	for zone, want := range map[string]string{"UTC": "2026-06-01T08:00:00.5Z", "Asia/Shanghai": "2026-06-01T00:00:00.5Z", "+08:00": "2026-06-01T00:00:00.5Z"} {
		s := open(t, postgres.Config{URL: address, Location: place(t, zone)})
		rows := scannertest.Rows(t, scannertest.Prepare(t, s, "SELECT at, stamp FROM moves ORDER BY id"), nil)
		if got := rows[0].Values[0].String(); got != want || rows[0].Values[1].String() != "2026-06-01T00:00:00.5Z" {
			t.Errorf("%s: %s and %s, want %s", zone, got, rows[0].Values[1], want)
		}
		if far := rows[2].Values; far[0].String() != "9999-12-31T23:59:59.999999Z" || far[1].String() != "0001-01-01T00:00:00Z" {
			t.Errorf("%s: infinity is %s, -infinity %s", zone, far[0], far[1])
		}
		args := map[string]any{"now": rows[0].Values[0].Time(), "wm_at": rows[0].Values[0], "wm_stamp": row.TimeOf(at)}
		if got := scannertest.One(t, s, "SELECT string_agg(id::text, ' ') AS v FROM moves WHERE at <= :now AND at = :wm_at AND stamp = :wm_stamp", args); got != "1" {
			t.Errorf("%s: found %s", zone, got)
		}
		if got := scannertest.One(t, s, "SELECT string_agg(id::text, ' ') AS v FROM moves WHERE at > :wm_at AND at < 'infinity'", args); got != "2" {
			t.Errorf("%s: behind the watermark %s", zone, got)
		}
	}
}

// TestSQLTellsTheTimeOfConditions compares the clocks of SQL with :now, in the source's time zone.
func TestSQLTellsTheTimeOfConditions(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	for _, zone := range []string{"UTC", "Asia/Shanghai", "+08:00", "-03:30"} {
		s := open(t, postgres.Config{URL: address, Location: place(t, zone)})
		for _, clock := range []string{"NOW()", "LOCALTIMESTAMP", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP::timestamp"} {
			now := time.Now()
			p := scannertest.Prepare(t, s, "SELECT "+clock+" AS v, :now AS n, :now::timestamp AS l, ("+clock+" BETWEEN :now - interval '5s' AND :now + interval '5s') AS near")
			got := scannertest.Rows(t, p, map[string]any{"now": now})[0].Values
			if apart := got[0].Time().Sub(now).Abs(); apart > 5*time.Second || !got[3].Bool() || got[1].Time() != got[2].Time() || now.Sub(got[1].Time()).Abs() > time.Millisecond {
				t.Errorf("%s in %s: %s, and :now is %s and %s; near: %s", clock, zone, got[0], got[1], got[2], got[3])
			}
		}
	}
}

// TestTimezoneOfTheURL tests that a time zone in the URL is refused. It was once accepted, and values were wrong by
// hours.
func TestTimezoneOfTheURL(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"postgres://wms:hush@db/wms?sslmode=disable&timezone=Asia/Shanghai", "postgres://wms:hush@db/wms?TimeZone=Asia/Shanghai", "host=db password=hush timezone=PRC"} {
		_, err := postgres.Open(t.Context(), postgres.Config{URL: address})
		wantCode(t, address, err, scanners.CodeUnreachable, "a setting of the source")
	}
}

func place(t *testing.T, zone string) *time.Location {
	t.Helper()
	location, err := row.ParseZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

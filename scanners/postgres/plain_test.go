package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// TestPlainStatements tests which statements end with ROLLBACK alone: those that call no function that may leave
// something in the session.
func TestPlainStatements(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{
		URL: testenv.Postgres(t), MaxConnections: 1,
		Functions: scanners.Functions{Allowed: []string{"pg_advisory_lock", "public.keeps", "public.plain"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `
		CREATE FUNCTION keeps() RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT set_config('search_path', 'elsewhere', false) $$;
		CREATE FUNCTION adds(a int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT a + 1 $$;
		CREATE VIEW locked AS SELECT pg_advisory_lock(7)::text AS n`); err != nil {
		t.Fatal(err)
	}
	conn.Release()
	for sql, plain := range map[string]bool{
		"SELECT count(*) AS n, max(now()) AS at FROM pg_class WHERE relname LIKE 'x%'": true,
		"SELECT random() AS n":                        true, // volatile, and known to be for probes
		"SELECT n FROM locked":                        false,
		"SELECT keeps() AS n":                         false,
		"SELECT adds(1) AS n":                         false,
		"SELECT n::text FROM generate_series(1, 3) n": true,
	} {
		p := scanOnce(t, s, sql)
		if p.plain != plain {
			t.Errorf("%s: plain is %t", sql, p.plain)
		}
		conn, err := s.begin(t.Context(), s.timeout)
		if err != nil {
			t.Fatal(err)
		}
		var path string
		var locks int
		err = conn.QueryRow(t.Context(), "SELECT current_setting('search_path'), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')", pgx.QueryExecModeExec).Scan(&path, &locks)
		s.end(t.Context(), conn)
		if err != nil || locks != 0 || path == "elsewhere" {
			t.Errorf("%s leaves %d locks and the search path %s: %v", sql, locks, path, err)
		}
	}
}

// TestSettingsOfAPooler has a session whose settings differ from the source's, as from a pooler.
func TestSettingsOfAPooler(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Asia/Shanghai", "+05:30"} {
		location, err := scanners.ParseZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Config{URL: testenv.Postgres(t), MaxConnections: 1, Location: location})
		if err != nil {
			t.Fatal(err)
		}
		const noon = `SELECT to_char(timestamptz '2026-01-01 00:00Z', 'HH24:MI') || length('\\') AS n`
		var first string
		for _, foreign := range []string{"", "SET TIME ZONE 'America/New_York'", "SET standard_conforming_strings = off"} {
			conn, err := s.pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Exec(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			conn.Release()
			p, err := s.Prepare(t.Context(), parsed(t, noon))
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if _, err := p.Scan(t.Context(), scanners.Request{}, func(r *row.Row) error { got = strings.Clone(r.Values[0].String()); return nil }); err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = got
			}
			if want := map[string]string{"Asia/Shanghai": "08:002", "+05:30": "05:302"}[zone]; got != want || first != want {
				t.Errorf("%s after %q: %s instead of %s", zone, foreign, got, want)
			}
		}
		_ = s.Close()
	}
}

func scanOnce(t *testing.T, s *Source, sql string) *prepared {
	t.Helper()
	made, err := s.Prepare(t.Context(), parsed(t, sql))
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if _, err := made.Scan(t.Context(), scanners.Request{}, func(*row.Row) error { return nil }); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	p, ok := made.(*prepared)
	if !ok {
		t.Fatalf("%s: prepared as %T", sql, made)
	}
	return p
}

func parsed(t *testing.T, sql string) *probe.Statement {
	t.Helper()
	stmt, faults := probe.Parse(sql)
	if len(faults) > 0 {
		t.Fatalf("%s: %v", sql, faults)
	}
	return stmt
}

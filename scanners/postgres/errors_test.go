package postgres_test

import (
	"errors"
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

func wantCode(t testing.TB, what string, err error, code scanners.Code, text string) {
	t.Helper()
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: want %s with %q, got %v", what, code, text, err)
	}
}

func ignore(*row.Row) error { return nil }

func TestParameterErrors(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{URL: testenv.Postgres(t)})
	for _, c := range []struct {
		cast string
		arg  any
		text string
	}{
		{"bigint", "abc", `parameter :x is "abc", no bigint`},
		{"bigint", "119240.5", "no bigint"},
		{"integer", 1.5, `is "1.5", no integer`},
		{"smallint", int64(70000), "is 70000, which does not fit a smallint"},
		{"bigint", true, `is "true", no bigint`},
		{"numeric", "12,5", "no numeric"},
		{"float8", time.Now(), "no double precision"},
		{"boolean", "perhaps", "no boolean"},
		{"boolean", int64(1), "no boolean"},
		{"timestamptz", int64(5), "no timestamp"},
		{"timestamptz", "soon", "parameter :x cannot be read"},
		{"date", 1.5, "no date"},
		{"interval", true, "no interval"},
		{"uuid", "x", "parameter :x cannot be read"},
		{"int[]", "{a}", "parameter :x cannot be read"},
		{"numeric", row.BytesOf("\x00"), "is bytes, no numeric"},
	} {
		p := scannertest.Prepare(t, s, "SELECT 1 AS one WHERE :x::"+c.cast+" IS NOT NULL")
		_, err := p.Scan(t.Context(), scanners.Request{Args: map[string]any{"x": c.arg}}, ignore)
		wantCode(t, c.cast, err, scanners.CodeParam, c.text)
	}
}

func TestParametersOfOtherTypes(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{URL: testenv.Postgres(t)})
	for _, c := range []struct {
		sql  string
		arg  any
		want string
	}{
		{":x::int[]", "{1,2}", "{1,2}"},
		{":x::uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		{":x::text", int64(7), "7"},
		{":x::text", true, "true"},
		{":x::text", nil, ""},
		{":x", "untyped", "untyped"},
		{":x::jsonb", row.JSONOf(`{"a":1}`), `{"a": 1}`},
		{":x::interval", row.DurationOf(90 * time.Second), "1m30s"},
		{":x::interval", "1 hour", "1h0m0s"},
		{":x::boolean", "t", "true"},
		{":x::numeric", "1e3", "1000"},
		{":x::numeric", 0.1, "0.1"},
		{":x::date", time.Date(2026, 6, 1, 23, 0, 0, 0, time.UTC), "2026-06-01"},
		{":x::timestamp", time.Date(2026, 6, 1, 8, 0, 0, 0, time.FixedZone("", 8*3600)), "2026-06-01T00:00:00Z"},
		{":x::timestamptz", "2026-06-01 00:00", "2026-06-01T00:00:00Z"},
		{"encode(:x, 'hex')", row.BytesOf("\x01\xff"), "01ff"},
	} {
		if got := scannertest.One(t, s, "SELECT "+c.sql+" AS v", map[string]any{"x": c.arg}); got != c.want {
			t.Errorf("%s with %v: %q, want %q", c.sql, c.arg, got, c.want)
		}
	}
}

func TestStatementErrors(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{URL: testenv.Postgres(t)})
	for sql, text := range map[string]string{
		"SELECT 1 AS a,\n  nope AS b":       "(line 2 of the probe)",
		"SELECT 1 AS a WHERE :x IS NULL":    "say which type is meant",
		"SELECT":                            "returns no columns",
		"SELECT 1 AS a; -- fine\n":          "",
		"SELECT rolpassword FROM pg_authid": "",
	} {
		_, err := s.Prepare(t.Context(), scannertest.Parse(t, sql))
		if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	p := scannertest.Prepare(t, s, "SELECT 1 / :x::int AS v")
	_, err := p.Scan(t.Context(), scanners.Request{Args: map[string]any{"x": 0}}, ignore)
	wantCode(t, "division", err, scanners.CodeFailed, "division by zero")
}

// TestChanged alters a table after a statement on it was prepared.
func TestChanged(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	exec(t, url, "CREATE TABLE bins (id int NOT NULL, qty int NOT NULL); INSERT INTO bins VALUES (1, 2)")
	s := open(t, postgres.Config{URL: url})
	p := scannertest.Prepare(t, s, "SELECT * FROM bins")
	for _, change := range []string{
		"ALTER TABLE bins ALTER qty DROP NOT NULL; UPDATE bins SET qty = NULL",
		"ALTER TABLE bins ALTER qty TYPE text",
		"ALTER TABLE bins DROP qty",
	} {
		exec(t, url, change)
		_, err := p.Scan(t.Context(), scanners.Request{}, ignore)
		wantCode(t, change, err, scanners.CodeChanged, "")
		if scanners.IsTransient(err) {
			t.Errorf("%s: scanning again would not help", change)
		}
	}
}

// TestSecrets tests that no error of a failed connection shows the password.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const password = "s3cr3t#word"
	server, err := url.Parse(testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := testenv.NewProxy(t, server.Host)
	proxy.Cut()
	escaped := url.QueryEscape(password)
	for _, address := range []string{
		"postgres://wms:" + password + "@localhost:5432/wms",
		"postgres://wms:" + password + "@local host/wms",
		"postgres://wms:" + escaped + "@localhost:port/wms",
		"postgres://wms:" + escaped + "@" + proxy.Addr + "/wms?sslmode=disable",
		"postgres://wms:" + escaped + "@" + server.Host + "/" + password[:6] + "?sslmode=disable",
		"postgres://wms:" + escaped + "@" + server.Host + "/wms?sslmode=require",
		"host=" + proxy.Addr + " user=wms password='" + password + "' port=x",
	} {
		s, err := postgres.Open(t.Context(), postgres.Config{URL: address})
		if err == nil {
			err = s.Ping(t.Context())
			_ = s.Close()
		}
		wantCode(t, address, err, scanners.CodeUnreachable, "")
		for _, secret := range []string{password, escaped, "s3cr3t#"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error shows the password: %v", address, err)
			}
		}
	}
}

// TestLargeMessages has a server that puts large texts into messages that are not rows.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	exec(t, url, `CREATE FUNCTION shout() RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RAISE WARNING '%', repeat('x', 20000000); RETURN 1; END $$`)
	s := open(t, postgres.Config{URL: url, MaxConnections: 1, Functions: scanners.Functions{Allowed: []string{"public.shout"}}})
	for _, sql := range []string{"SELECT CAST(repeat('x', 20000000) AS integer) AS n", "SELECT shout() AS n"} {
		_, err := scannertest.Prepare(t, s, sql).Scan(t.Context(), scanners.Request{}, ignore)
		wantCode(t, sql, err, scanners.CodeTooLarge, "the source accepts at most 4194304")
		if got := scannertest.One(t, s, "SELECT 7 AS n", nil); got != "7" {
			t.Errorf("the next scan says %s", got)
		}
	}
}

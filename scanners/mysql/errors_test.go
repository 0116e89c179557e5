package mysql_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
	"tallyman/scanners/scannertest"
)

// TestStatementErrors tests that errors say what is wrong, where, and what to do.
func TestStatementErrors(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "CREATE TABLE bins (id int)")
	s := open(t, mysql.Config{URL: d.URL()})
	for sql, c := range map[string]struct {
		at   string // the text of the probe from there on
		says string
	}{
		"SELECT id,\n  nope AS b FROM bins":               {"nope", "Unknown column 'nope'"},
		"SELECT id FROM bins WHERE :x = 1 AND":            {"", "syntax"},
		"SELECT :x AS x, id\nFROM bins WHEN :y = 2":       {"WHEN :y", "syntax"},
		"SELECT id FROM bins\nWHERE id = = 1":             {"= 1", "syntax error near '= 1' at line 2 of the probe"},
		"SELECT id FROM bins WHERE id = \"one\"":          {`"one"`, "write texts in single quotes"},
		"SELECT b.nope FROM bins b":                       {"nope", "Unknown column"},
		"SELECT nope(id) FROM bins":                       {"nope", "nope"},
		"SELECT id FROM nowhere":                          {"", "nowhere' doesn't exist"},
		"SELECT id FROM bins # not the end\nWHERE id = 1": {"# not", "# begins a comment in MySQL only"},
		"SELECT id,\n@ x AS x FROM bins":                  {"@ x", "a variable of the session"},
		"SELECT id AS a, id AS A FROM bins":               {"", "two columns"},
		"SELECT id FROM bins\nWHERE id = 1 --1":           {"--1", "(line 2 of the probe)"},
	} {
		_, err := s.Prepare(t.Context(), scannertest.Parse(t, sql))
		var e *scanners.Error
		if !strings.Contains(errorText(err), c.says) {
			t.Errorf("%s: %v does not say %q", sql, err, c.says)
			continue
		}
		if e = asError(err); e == nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if c.at == "" && e.At != 0 || c.at != "" && (e.At == 0 || !strings.HasPrefix(string([]rune(sql)[e.At-1:]), c.at)) {
			t.Errorf("%s: the place is %d, want %q (%v)", sql, e.At, c.at, err)
		}
	}
	for sql, c := range map[string]struct {
		code scanners.Code
		says string
	}{
		"SELECT (SELECT seq FROM seq_1_to_2) AS n":                     {scanners.CodeFailed, "more than 1 row"},
		"SELECT CAST(18446744073709551615 AS UNSIGNED) + 1 AS n":       {scanners.CodeFailed, "out of range"},
		"SELECT id FROM bins b WHERE b.id = (SELECT 1 UNION SELECT 2)": {"", ""},
	} {
		_, err := prepare(t, s, sql).Scan(t.Context(), scanners.Request{}, ignore)
		if c.code == "" {
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			continue
		}
		wantCode(t, sql, err, c.code, c.says)
	}
}

// TestNoAccess tests that errors say whether the source or a table is out of reach, and never show the password.
func TestNoAccess(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "CREATE TABLE bins (id int); CREATE TABLE pay (id int); CREATE USER some_"+d.Name+" IDENTIFIED BY 'hush/42'; GRANT SELECT ON "+d.Name+".bins TO some_"+d.Name)
	address := func(user, password, name string) string {
		u := url.URL{Scheme: "mysql", User: url.UserPassword(user, password), Host: d.Addr, Path: "/" + name}
		return u.String()
	}
	some := "some_" + d.Name
	for what, u := range map[string]string{
		"a wrong password": address(some, "hush/41", d.Name), "an unknown user": address("nobody", "hush/42", d.Name), "an unknown database": address(d.User, d.Password, "hush"),
		"no server": "mysql://some:hush%2F42@127.0.0.1:1/wms", "no host": "mysql://some:hush%2F42@nowhere.invalid/wms?connect_timeout=2",
		"a database of others": address(some, "hush/42", "mysql"),
	} {
		err := open(t, mysql.Config{URL: u}).Ping(t.Context())
		wantCode(t, what, err, scanners.CodeUnreachable, "")
		if !scanners.IsTransient(err) || strings.Contains(errorText(err), "hush/4") || strings.Contains(errorText(err), d.Password) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s := open(t, mysql.Config{URL: address(some, "hush/42", d.Name)})
	if got := one(t, s, "SELECT count(*) AS n FROM bins"); got != "0" {
		t.Error(got)
	}
	_, err := s.Prepare(t.Context(), scannertest.Parse(t, "SELECT id FROM pay"))
	wantCode(t, "a table of others", err, scanners.CodeStatement, "the source's user needs SELECT")
	_, err = s.Session(t.Context(), []scanners.StagedTable{{Table: "bins"}})
	wantCode(t, "a session", err, scanners.CodeStage, "CREATE TEMPORARY TABLES")
	if names, err := s.Tables(t.Context()); err != nil || len(names) != 1 || names[0] != "bins" {
		t.Errorf("tables %v, %v", names, err)
	}
}

// TestURLs tests that a URL that cannot be parsed is refused without being shown.
func TestURLs(t *testing.T) {
	t.Parallel()
	for u, says := range map[string]string{
		"mysql://a:hush@host:x/db":                      "cannot be read",
		"postgres://a:hush@host/db":                     "is not one of MySQL",
		"a:hush@tcp(host)/db":                           "is not one of MySQL",
		"mysql://a:hush@host":                           "with a database",
		"mysql://a:hush@host/a/b":                       "with a database",
		"mysql://a:hush@host/db?multiStatements=true":   `unknown option "multiStatements"`,
		"mysql://a:hush@host/db?allowAllFiles=true":     `unknown option "allowAllFiles"`,
		"mysql://a:hush@host/db?tls=maybe":              "the option tls",
		"mysql://a:hush@host/db?timezone=Asia/Shanghai": "a setting of the source",
		"mysql://a:hush@host/db?connect_timeout=0":      "connect_timeout",
	} {
		_, err := mysql.Open(mysql.Config{URL: u})
		wantCode(t, u, err, scanners.CodeUnreachable, says)
		if strings.Contains(errorText(err), "hush") {
			t.Errorf("%v shows the password", err)
		}
	}
	for _, u := range []string{"mysql://host/db", "mysql://a:b%2F@host:3307/db?tls=skip-verify", "mysql://a@localhost/db?socket=/run/mysqld/mysqld.sock"} {
		open(t, mysql.Config{URL: u})
	}
}

// TestTimezone is for sites whose DATETIME columns have local times. They are read as local times, and compared with
// :now as such.
func TestTimezone(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "SET time_zone = '+00:00'; CREATE TABLE moves (id int, at datetime(6), stamp timestamp(6)); INSERT INTO moves VALUES (1, '2026-06-01 08:00:00.5', '2026-06-01 00:00:00.5'), (2, '2026-06-01 08:00:01', '2026-06-01 00:00:01')")
	at := time.Date(2026, 6, 1, 0, 0, 0, 5e8, time.UTC)
	for option, want := range map[string]string{"": "2026-06-01T08:00:00.5Z 2026-06-01T00:00:00.5Z", "+08:00": "2026-06-01T00:00:00.5Z 2026-06-01T00:00:00.5Z"} {
		s := open(t, mysql.Config{URL: d.URL(), Location: place(t, option)})
		rows := scannertest.Rows(t, prepare(t, s, "SELECT at, stamp FROM moves WHERE id = 1"), nil)
		if got := rows[0].Values[0].String() + " " + rows[0].Values[1].String(); got != want {
			t.Errorf("%s: %s, want %s", option, got, want)
		}
		zone := map[string]any{"now": at, "wm_at": row.TimeOf(at)}
		where := "stamp <= :now AND stamp = :wm_at"
		if option != "" {
			where += " AND at <= :now AND at = :wm_at"
		}
		if got := scannertest.One(t, s, "SELECT GROUP_CONCAT(id) AS ids FROM moves WHERE "+where, zone); got != "1" {
			t.Errorf("%s: found %s", option, got)
		}
	}
	named := open(t, mysql.Config{URL: d.URL(), Location: place(t, "Asia/Shanghai")})
	wantCode(t, "a zone that the server does not know", named.Ping(t.Context()), scanners.CodeUnreachable, "+08:00")
}

// place is the location of a source with the time zone; nil for "".
func place(t *testing.T, zone string) *time.Location {
	t.Helper()
	if zone == "" {
		return nil
	}
	location, err := row.ParseZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

// TestSQLTellsTheTimeOfConditions compares the clocks of SQL with :now, in the source's time zone.
func TestSQLTellsTheTimeOfConditions(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	for _, zone := range []string{"", "+08:00", "-03:30"} {
		s := open(t, mysql.Config{URL: d.URL(), Location: place(t, zone)})
		for _, clock := range []string{"NOW(6)", "LOCALTIMESTAMP(6)", "CURRENT_TIMESTAMP(6)", "SYSDATE(6)"} {
			now := time.Now()
			p := prepare(t, s, "SELECT "+clock+" AS v, :now AS n, TIMESTAMPDIFF(SECOND, :now, "+clock+") AS s")
			got := scannertest.Rows(t, p, map[string]any{"now": now})[0].Values
			if apart := got[0].Time().Sub(got[1].Time()); apart.Abs() > 5*time.Second || got[2].Int() > 5 || got[2].Int() < -5 || now.Sub(got[1].Time()).Abs() > time.Millisecond {
				t.Errorf("%s in %q: %s, and :now is %s; the database counts %s s", clock, zone, got[0], got[1], got[2])
			}
		}
	}
}

// TestExactParameters compares numbers that no float holds.
func TestExactParameters(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "CREATE TABLE p (a decimal(30,3), b bigint unsigned); INSERT INTO p VALUES (123456789012345678.123, 9007199254740993), (123456789012345678.124, 9007199254740994)")
	s := open(t, mysql.Config{URL: d.URL()})
	x, err := row.ParseDecimal("123456789012345678.123")
	if err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{
		"a > :x": "1", "a = :x": "1", "a >= :x": "2", "(a, b) > (:x, :y)": "1", "a + 0 = :x": "1", "b > :y": "1", "b = :y": "1", "(b, a) > (:y, :x)": "1",
	} {
		if got := scannertest.One(t, s, "SELECT count(*) AS n FROM p WHERE "+where, map[string]any{"x": x, "y": "9007199254740993"}); got != want {
			t.Errorf("%s: %s rows, want %s", where, got, want)
		}
	}
}

// TestChanged alters a table after a statement on it was prepared.
func TestChanged(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "CREATE TABLE bins (id int NOT NULL, qty int NOT NULL); INSERT INTO bins VALUES (1, 2)")
	s := open(t, mysql.Config{URL: d.URL()})
	p := prepare(t, s, "SELECT * FROM bins")
	for _, change := range []string{
		"ALTER TABLE bins MODIFY qty int NULL; UPDATE bins SET qty = NULL",
		"UPDATE bins SET qty = 7; ALTER TABLE bins MODIFY qty varchar(20)",
		"ALTER TABLE bins MODIFY qty double",
		"ALTER TABLE bins DROP qty",
	} {
		exec(t, d, change)
		_, err := p.Scan(t.Context(), scanners.Request{}, ignore)
		wantCode(t, change, err, scanners.CodeChanged, "")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func asError(err error) *scanners.Error {
	e, _ := err.(*scanners.Error) //nolint:errorlint // it is what a source returns
	return e
}

// TestLargeColumns tests that the error names the columns that may have the value that is too large.
func TestLargeColumns(t *testing.T) {
	t.Parallel()
	db := newServer(t)
	db.Exec(t, "SET GLOBAL max_allowed_packet = 1073741824")
	s := db.Open(t, 1)
	for columns, says := range map[string]string{
		"1 AS id, repeat('x', 20000000) AS a":                                                                                 "column a holds more than the 1048576 bytes",
		"1 AS id, repeat('x', 20000000) AS a, repeat('x', 2000000) AS b":                                                      "one of the columns a, b holds more than the 1048576 bytes",
		"repeat('x', 2000000) AS a, repeat('x', 2000000) AS b, repeat('x', 2000000) AS c, repeat('x', 2000000) AS d, '' AS e": "a row holds more than the 4194304 bytes",
	} {
		_, err := scannertest.Prepare(t, s, "SELECT "+columns).Scan(t.Context(), scanners.Request{}, ignore)
		wantCode(t, columns, err, scanners.CodeTooLarge, says)
		if got := scannertest.One(t, s, "SELECT 7 AS n", nil); got != "7" {
			t.Errorf("the next scan says %s", got)
		}
	}
}

// TestClock reads the server's own time zone, which may differ from the source's.
func TestClock(t *testing.T) {
	t.Parallel()
	got, err := open(t, mysql.Config{URL: testenv.MariaDB(t).URL(), Location: place(t, "-03:30")}).Clock(t.Context())
	_, ahead := got.Zone()
	if _, want := time.Now().Zone(); err != nil || ahead != want || time.Since(got).Abs() > 10*time.Second {
		t.Errorf("%s in %q, %v", got, got.Location(), err)
	}
}

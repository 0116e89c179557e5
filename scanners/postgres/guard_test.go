package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/scaffold"
	"tallyman/internal/testenv"
	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/postgres"
	"tallyman/scanners/scannertest"
)

// site is a database with the role that tallyman init --sql prints.
type site struct {
	owner, address, role string
}

// newSite runs the printed SQL for three tables.
func newSite(t *testing.T) site {
	t.Helper()
	owner := testenv.Postgres(t)
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.Trim(u.Path, "/")
	s := site{owner: owner, role: "tallyman_probe_" + database}
	grants, err := scaffold.SQL(scaffold.Grants{Dialect: "postgres", For: scaffold.ForSource, Database: database, Tables: []string{"bin_stock", "orders", "waves"}})
	if err != nil {
		t.Fatal(err)
	}
	grants = strings.ReplaceAll(grants, "tallyman_probe", s.role)
	exec(t, owner, `CREATE TABLE bin_stock (wh_id int, bin_code text, sku text, qty numeric(12,3), changed_at timestamptz);
		CREATE TABLE orders (id int); CREATE TABLE waves (id int); INSERT INTO bin_stock VALUES (1, 'A-01', 'S1', -3, now())`)
	exec(t, owner, grants+"ALTER ROLE "+s.role+" PASSWORD 'x';")
	t.Cleanup(func() { exec(t, owner, "DROP OWNED BY "+s.role+"; DROP ROLE "+s.role) })
	u.User = url.UserPassword(s.role, "x")
	s.address = u.String()
	return s
}

func (s site) open(t *testing.T, allowed ...string) *postgres.Source {
	t.Helper()
	return open(t, postgres.Config{URL: s.address, MaxConnections: 2, Functions: scanners.Functions{Source: "wms", Allowed: allowed}})
}

// guardSetup creates the objects behind the probes, as the owner of the database.
const guardSetup = `
	CREATE FUNCTION plain() RETURNS int LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION stable_sql(x int) RETURNS int LANGUAGE sql STABLE AS 'SELECT x + abs(-1)';
	CREATE FUNCTION stable_named(x int, y int DEFAULT 2) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT stable_sql(y) + x';
	CREATE FUNCTION stable_table() RETURNS TABLE (a int) LANGUAGE sql STABLE AS 'SELECT wh_id FROM bin_stock';
	CREATE FUNCTION hides_kill(pid int) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT pg_terminate_backend(pid)';
	CREATE FUNCTION hides_deep(pid int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT hides_kill(pid)';
	CREATE FUNCTION hides_write(x int) RETURNS int LANGUAGE sql STABLE AS 'INSERT INTO orders VALUES (x); SELECT 1';
	CREATE FUNCTION hides_text(q text) RETURNS int LANGUAGE plpgsql STABLE AS $$ DECLARE n int; BEGIN EXECUTE q INTO n; RETURN n; END $$;
	CREATE FUNCTION any_kind(x anyelement) RETURNS anyelement LANGUAGE sql STABLE AS 'SELECT x';
	CREATE FUNCTION owners() RETURNS int LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT 1';
	CREATE SCHEMA trap; GRANT USAGE ON SCHEMA trap TO PUBLIC;
	CREATE FUNCTION trap.lookup() RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
	CREATE FUNCTION lookup() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
	CREATE FUNCTION pathed() RETURNS int LANGUAGE sql STABLE SET search_path = trap, public AS 'SELECT lookup()';
	CREATE FUNCTION step(n int, x int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT n + x';
	CREATE AGGREGATE total(int) (SFUNC = step, STYPE = int, INITCOND = '0');
	CREATE FUNCTION equals(a numeric, b text) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true';
	CREATE OPERATOR === (FUNCTION = equals, LEFTARG = numeric, RIGHTARG = text);
	CREATE FUNCTION check_code(c text) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true';
	CREATE DOMAIN code AS text CHECK (check_code(VALUE));
	CREATE DOMAIN short AS text CHECK (length(VALUE) < 10);
	CREATE TYPE pair AS (a int, b code);
	CREATE FUNCTION to_pair(t text) RETURNS pair LANGUAGE sql VOLATILE AS 'SELECT NULL::pair';
	CREATE CAST (text AS pair) WITH FUNCTION to_pair(text);
	CREATE VIEW sleepy AS SELECT *, pg_sleep(0) IS NULL AS slept FROM bin_stock;
	CREATE VIEW nested AS SELECT wh_id FROM (SELECT * FROM sleepy) s;
	CREATE VIEW calm AS SELECT wh_id, random() AS r, clock_timestamp() AS t, stable_named(wh_id) AS n FROM bin_stock;
	CREATE TABLE guarded (id int); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON guarded USING (plain() = 1);
	CREATE EXTENSION IF NOT EXISTS tablefunc;
	GRANT SELECT ON sleepy, nested, calm, guarded TO PUBLIC`

// TestAttacks runs calls that a role with the documented grants could use to get past the read-only transaction. Parse
// or Prepare refuses each one before the server has planned or run it. The functions are called by name and through
// other objects.
func TestAttacks(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	setup := guardSetup
	if !hasExtension(t, x.owner, "tablefunc") {
		setup = strings.ReplaceAll(setup, "CREATE EXTENSION IF NOT EXISTS tablefunc;", "")
	}
	exec(t, x.owner, setup)
	s := x.open(t)
	victim := "(SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() LIMIT 1)"
	for sql, says := range map[string]string{
		`SELECT U&"pg\005fterminate\005fbackend"(pid) AS n FROM pg_stat_activity`:                              "pg_terminate_backend",
		`SELECT U&"pg!005fterminate!005fbackend" UESCAPE '!' (1) AS n`:                                         "pg_terminate_backend",
		`SELECT pg_catalog.U&"pg\005flogical\005femit\005fmessage"(false, 'x', repeat('x', 1000)) AS n`:        "pg_logical_emit_message",
		`SELECT * FROM ts_stat('SELECT to_tsvector(pg_terminate_backend(1)::text)')`:                           "ts_stat",
		`SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery')::text AS n`:                  "ts_rewrite",
		`SELECT query_to_xml('SELECT pg_terminate_backend(1)', true, true, '')::text AS n`:                     "query_to_xml",
		`SELECT table_to_xml('sleepy', true, true, '')::text AS n`:                                             "table_to_xml",
		`SELECT schema_to_xml('public', true, true, '')::text AS n`:                                            "schema_to_xml",
		`SELECT lo_create(0)::int AS n`:                                                                        "lo_create",
		`SELECT lo_get(1)::text AS n`:                                                                          "lo_get",
		`SELECT pg_read_file('PG_VERSION') AS n`:                                                               "pg_read_file",
		`SELECT pg_ls_dir('.') AS n`:                                                                           "pg_ls_dir",
		`SELECT (pg_stat_file('PG_VERSION')).size AS n`:                                                        "pg_stat_file",
		`SELECT pg_cancel_backend(` + victim + `) AS n`:                                                        "pg_cancel_backend",
		`SELECT pg_sleep(0)::text AS n`:                                                                        "pg_sleep",
		`SELECT pg_sleep_for('0')::text AS n`:                                                                  "pg_sleep_for",
		`SELECT pg_notify('a', 'b')::text AS n`:                                                                "pg_notify",
		`SELECT set_config('work_mem', '1GB', false) AS n`:                                                     "set_config",
		`SELECT pg_try_advisory_lock(1) AS n`:                                                                  "pg_try_advisory_lock",
		`SELECT pg_current_xact_id()::text AS n`:                                                               "pg_current_xact_id",
		`SELECT wh_id FROM sleepy`:                                                                             "pg_sleep, which is volatile: it may do more than read (called by a view",
		`SELECT wh_id FROM nested`:                                                                             "pg_sleep",
		`WITH n AS (SELECT wh_id FROM nested) SELECT (SELECT count(*) FROM n) AS c`:                            "pg_sleep",
		`SELECT id FROM guarded`:                                                                               "public.plain",
		`SELECT plain() AS n`:                                                                                  "public.plain, which is volatile",
		`SELECT 1 AS n FROM bin_stock WHERE wh_id IN (SELECT plain())`:                                         "public.plain",
		`SELECT hides_kill(1) AS n`:                                                                            "public.hides_kill, which calls pg_terminate_backend, which acts on the server",
		`SELECT hides_deep(1) AS n`:                                                                            "public.hides_kill, which calls pg_terminate_backend",
		`SELECT hides_write(1) AS n`:                                                                           "public.hides_write, which writes",
		`SELECT hides_text('SELECT pg_terminate_backend(1)::int') AS n`:                                        "public.hides_text, which is written in plpgsql",
		`SELECT any_kind(1) AS n`:                                                                              "public.any_kind, which has polymorphic arguments",
		`SELECT owners() AS n`:                                                                                 "public.owners, which runs with the rights of its owner",
		`SELECT pathed() AS n`:                                                                                 "public.pathed, which calls trap.lookup, which is volatile",
		`SELECT total(wh_id) AS n FROM bin_stock`:                                                              "public.step",
		`SELECT total(wh_id) OVER () AS n FROM bin_stock`:                                                      "public.step",
		`SELECT qty === 'x' AS n FROM bin_stock`:                                                               "public.equals",
		`SELECT qty OPERATOR(public.===) ANY (ARRAY['x']) AS n FROM bin_stock`:                                 "public.equals",
		`SELECT bin_code::code::text AS n FROM bin_stock`:                                                      "public.check_code",
		`SELECT (NULL::pair).b::text AS n`:                                                                     "public.check_code",
		`SELECT (ROW(1, 'x')::pair).a AS n`:                                                                    "public.check_code",
		`SELECT bin_code::pair::text AS n FROM bin_stock`:                                                      "public.to_pair",
		`SELECT ":funcid" AS ":funcid", plain() AS ":opno" FROM (SELECT 1 AS ":funcid") AS ":relid"`:           "public.plain",
		`SELECT 1 AS "x } {FUNCEXPR :funcid 1598", plain() AS "` + strings.Repeat(" ", 60) + `", 'a)}' AS ":"`: "public.plain",
		`SELECT * FROM crosstab('SELECT pg_terminate_backend(1)') AS c (a int, b int)`:                         "crosstab",
	} {
		if strings.Contains(sql, "crosstab") && setup != guardSetup {
			continue
		}
		if _, faults := probe.Parse(sql); len(faults) > 0 { // Prepare sees the same behind a view
			view := fmt.Sprintf("attack%d", len(sql))
			exec(t, x.owner, "CREATE OR REPLACE VIEW "+view+" AS "+sql+"; GRANT SELECT ON "+view+" TO PUBLIC")
			refused(t, s, "SELECT * FROM "+view, says)
			exec(t, x.owner, "DROP VIEW "+view)
			continue
		}
		refused(t, s, sql, says)
	}
	nothingHappened(t, x)
}

// refused tests that Prepare refuses the SQL with these words.
func refused(t *testing.T, s *postgres.Source, sql, says string) {
	t.Helper()
	_, err := s.Prepare(t.Context(), scannertest.Parse(t, sql))
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code != scanners.CodeFunction || e.Transient || !strings.Contains(err.Error(), says) {
		t.Errorf("%s\n  want %q, got %v", sql, says, err)
	}
}

// nothingHappened tests that the attacks left nothing behind.
func nothingHappened(t *testing.T, x site) {
	t.Helper()
	s := open(t, postgres.Config{URL: x.owner})
	if got := scannertest.One(t, s, "SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM pg_largeobject_metadata) AS n", nil); got != "0" {
		t.Errorf("%s orders and large objects were made", got)
	}
}

func hasExtension(t *testing.T, address, name string) bool {
	t.Helper()
	return scannertest.One(t, open(t, postgres.Config{URL: address}), fmt.Sprintf("SELECT count(*) AS n FROM pg_available_extensions WHERE name = '%s'", name), nil) == "1"
}

// TestWhatReadsPasses has statements that probes usually consist of. None is refused.
func TestWhatReadsPasses(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	exec(t, x.owner, strings.ReplaceAll(guardSetup, "CREATE EXTENSION IF NOT EXISTS tablefunc;", ""))
	s := x.open(t)
	for _, sql := range []string{
		"SELECT * FROM bin_stock WHERE qty < 0 AND changed_at > :now - interval '1 day' ORDER BY bin_code LIMIT 10",
		"SELECT sku, sum(qty), count(*) FILTER (WHERE qty > 0) AS n, string_agg(bin_code, ',' ORDER BY bin_code) AS codes FROM bin_stock GROUP BY GROUPING SETS ((sku), ()) HAVING count(*) > 0",
		"SELECT row_number() OVER w AS n, lag(qty) OVER w AS l, sum(qty) OVER (ORDER BY changed_at RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW) AS s FROM bin_stock WINDOW w AS (PARTITION BY sku ORDER BY qty)",
		"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY qty) AS p, mode() WITHIN GROUP (ORDER BY sku) AS m FROM bin_stock",
		"SELECT CASE WHEN qty > 0 THEN 'a' ELSE sku END AS a, coalesce(sku, 'x') AS b, nullif(qty, 2) AS c, greatest(qty, 3) AS d, sku COLLATE \"C\" AS e, sku::int::text AS f FROM bin_stock",
		"SELECT ARRAY[wh_id, 2]::text[] AS a, ROW(1, sku)::text AS b, (wh_id, sku) < (1, 'x') AS c, wh_id IS DISTINCT FROM 3 AS d, qty = ANY (ARRAY[1, 2]) AS e, EXISTS (SELECT 1) AS f FROM bin_stock",
		"SELECT current_date AS d, current_user::text AS u, now() AS n, age(changed_at) AS a, date_trunc('day', changed_at, 'Asia/Shanghai') AS t, changed_at AT TIME ZONE 'UTC' AS z FROM bin_stock",
		"SELECT '{\"a\": [1]}'::jsonb #>> '{a,0}' AS a, jsonb_path_query_first('[1]', '$[0]')::text AS b, to_jsonb(b)::text AS c, regexp_replace(sku, 'x', 'y') AS r, format('%s', sku) AS f FROM bin_stock b",
		"WITH RECURSIVE q (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 3) SELECT * FROM q",
		"SELECT wh_id FROM bin_stock UNION SELECT 2 INTERSECT SELECT 3 EXCEPT ALL SELECT 4 ORDER BY 1",
		"SELECT x, o FROM generate_series(1, 3) WITH ORDINALITY AS g (x, o) JOIN LATERAL (SELECT g.x) AS l (y) ON true",
		"SELECT g.n, r.a FROM ROWS FROM (generate_series(1, 2), json_to_recordset('[]') AS (a int, b text)) AS r (n, a, b) JOIN generate_series(1, 2) AS g (n) USING (n)",
		"SELECT DISTINCT ON (sku) sku, '1'::short::text AS s FROM bin_stock TABLESAMPLE system (50) REPEATABLE (1)",
		"SELECT random() AS r, clock_timestamp() AS c, gen_random_uuid()::text AS u, pg_is_in_recovery() AS p, pg_relation_size('bin_stock') AS s",
		"SELECT to_tsvector('simple', sku) @@ to_tsquery('x') AS t, ts_rewrite('a'::tsquery, 'a'::tsquery, 'b'::tsquery)::text AS r FROM bin_stock",
		"SELECT int4range(1, 3) @> 2 AS a, '[1,3)'::int4range::text AS b, '10.0.0.1'::inet << '10.0.0.0/8' AS c, sku LIKE 'a%' AS d, sku ~* 'x' AS e, sku SIMILAR TO 'x' AS f FROM bin_stock",
		"SELECT * FROM calm",
		"SELECT stable_sql(1) AS a, stable_named(1) AS b, stable_named(y => 1, x => 2) AS c, t.a AS d FROM stable_table() AS t",
		"VALUES (1, 'a'), (2, 'b')",
		"TABLE bin_stock",
		"SELECT count(*) AS n FROM pg_stat_activity, pg_locks, pg_stat_user_tables, pg_settings, pg_indexes, information_schema.columns, information_schema.table_constraints",
		"SELECT \":funcid\" AS \":funcid 1598\", '{' AS \"}{\", 1 AS \"x\\\" FROM (SELECT 1 AS \":funcid\") AS \":relid\"",
	} {
		if _, err := s.Prepare(t.Context(), scannertest.Parse(t, sql)); err != nil {
			t.Errorf("%s\n  %v", sql, err)
		}
	}
}

// TestNewerSQLPasses has SQL of later versions only.
func TestNewerSQLPasses(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	s := x.open(t)
	version, err := strconv.Atoi(scannertest.One(t, s, "SELECT current_setting('server_version_num')::int / 10000 AS v", nil))
	if err != nil {
		t.Fatal(err)
	}
	for sql, since := range map[string]int{
		"WITH RECURSIVE q (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q) SEARCH DEPTH FIRST BY n SET o CYCLE n SET c USING p SELECT n FROM q":                                     14,
		"SELECT ('{\"a\": 1}'::jsonb)['a']::text AS a, '{[1,3)}'::int4multirange::text AS m":                                                                                       14,
		"SELECT json_object('a': 1)::text AS a, json_array(1, 2)::text AS b, json_arrayagg(sku)::text AS c, json_objectagg(sku: qty)::text AS d, '{}' IS JSON AS e FROM bin_stock": 16,
		"SELECT json_value('{}'::jsonb, '$.a' RETURNING int DEFAULT 1 ON EMPTY) AS a, json_query('{}'::jsonb, '$')::text AS b, json_exists('{}'::jsonb, '$.a') AS c":               17,
		"SELECT a, z FROM json_table('[1]'::jsonb, '$[*]' COLUMNS (a int PATH '$', NESTED PATH '$.b[*]' COLUMNS (z text PATH '$'), NESTED PATH '$.c' COLUMNS (y int PATH '$')))":   17,
		"SELECT uuidv7()::text AS u": 18,
	} {
		if version < since {
			continue
		}
		if _, err := s.Prepare(t.Context(), scannertest.Parse(t, strings.ReplaceAll(strings.ReplaceAll(sql, "('a': ", `('a'\: `), "(sku: ", `(sku\: `))); err != nil {
			t.Errorf("%s\n  %v", sql, err)
		}
	}
}

// TestInitialObjects tests an assumption of the look-up: no operator and no type of PostgreSQL itself calls a function
// that probes may not call.
func TestInitialObjects(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{URL: testenv.Postgres(t)})
	for what, sql := range map[string]string{
		"operators": "SELECT count(*) AS n FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode WHERE o.oid < 16384 AND p.provolatile = 'v'",
		"types": `SELECT count(*) AS n FROM pg_type t JOIN pg_proc p ON p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin, t.typmodout)
			WHERE t.oid < 16384 AND p.provolatile = 'v'`,
	} {
		if got := scannertest.One(t, s, sql, nil); got != "0" {
			t.Errorf("%s %s are volatile", got, what)
		}
	}
}

// TestAllowedFunctions names functions in the configuration, as the refusal prints them.
func TestAllowedFunctions(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	exec(t, x.owner, `CREATE FUNCTION plain() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE FUNCTION "Odd, one"() RETURNS int LANGUAGE sql AS 'SELECT 2';
		CREATE SCHEMA other; GRANT USAGE ON SCHEMA other TO PUBLIC; CREATE FUNCTION other.plain() RETURNS int LANGUAGE sql AS 'SELECT 3';
		CREATE VIEW files AS SELECT pg_ls_dir('.') AS name; GRANT SELECT ON files TO PUBLIC`)
	const sql = `SELECT plain() + "Odd, one"() AS n, pg_sleep(0)::text AS s`
	_, err := x.open(t, "other.plain").Prepare(t.Context(), scannertest.Parse(t, sql))
	wantCode(t, "not allowed", err, scanners.CodeFunction, "functions: [other.plain, ")
	line := regexp.MustCompile(`sources\.wms with the line: functions: \[(.*)\]\)$`).FindStringSubmatch(fmt.Sprint(err))
	if line == nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range regexp.MustCompile(`'([^']+)'|[^', ]+`).FindAllString(line[1], -1) {
		names = append(names, strings.Trim(name, "'"))
	}
	if got := scannertest.Rows(t, scannertest.Prepare(t, x.open(t, names...), sql), nil); len(got) != 1 || got[0].Values[0].String() != "3" {
		t.Errorf("with %q: %v", names, got)
	}
	refused(t, x.open(t, "public.plain"), "SELECT other.plain() AS n", "other.plain")
	refused(t, x.open(t, "plain"), "SELECT plain() AS n", "public.plain")
	_, err = x.open(t, "pg_ls_dir").Prepare(t.Context(), scannertest.Parse(t, "SELECT name FROM files"))
	if err != nil {
		t.Errorf("a dangerous function that is named exactly: %v", err)
	}
}

// TestPlace points at the call in the text.
func TestPlace(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	const sql = "SELECT 'ä' AS a,\n  pg_sleep(0)::text AS b"
	_, err := x.open(t).Prepare(t.Context(), scannertest.Parse(t, sql))
	var e *scanners.Error
	if !errors.As(err, &e) || e.At != 1+len([]rune(sql[:strings.Index(sql, "pg_sleep")])) {
		t.Errorf("%+v", err)
	}
}

// TestPreparedBeforeItRuns tests that the server has run no part of a refused statement. A stable function in SQL would
// have raised an error, and the planner would have run an immutable one.
func TestPreparedBeforeItRuns(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	exec(t, x.owner, `CREATE FUNCTION bang() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'it runs'; END $$;
		CREATE FUNCTION wrapped() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT bang()'`)
	s := x.open(t)
	for _, sql := range []string{"SELECT bang() AS n", "SELECT wrapped() AS n", "SELECT 1 AS n WHERE wrapped() = 1", "SELECT 1 AS n LIMIT bang()"} {
		stmt := scannertest.Parse(t, sql)
		_, err := s.Prepare(t.Context(), stmt)
		wantCode(t, sql, err, scanners.CodeFunction, "public.bang")
		_, err = s.Explain(t.Context(), stmt, nil)
		wantCode(t, "the plan of "+sql, err, scanners.CodeFunction, "public.bang")
		refusedInSession(t, s, sql)
	}
}

func refusedInSession(t *testing.T, s *postgres.Source, sql string) {
	t.Helper()
	session, err := s.Session(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	_, err = session.Prepare(t.Context(), scannertest.Parse(t, sql))
	wantCode(t, "in a session: "+sql, err, scanners.CodeFunction, "public.bang")
	if got := scannertest.One(t, session, "SELECT 1 AS n", nil); got != "1" {
		t.Errorf("the session is %s", got)
	}
}

// TestTreesEndWithPrepare checks the session after a refused Prepare, and after one whose function has an error in its
// body.
func TestTreesEndWithPrepare(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	exec(t, x.owner, `SET check_function_bodies = off; CREATE FUNCTION broken() RETURNS int LANGUAGE sql STABLE AS 'SELECT nothing FROM nowhere'`)
	s := open(t, postgres.Config{URL: x.address, MaxConnections: 1})
	refused(t, s, "SELECT broken() AS n", "public.broken, which cannot be checked by the server: ")
	refused(t, s, "SELECT pg_sleep(1)::text AS n", "pg_sleep")
	const state = "SELECT concat_ws(' ', current_setting('debug_print_rewritten'), current_setting('client_min_messages'), current_setting('search_path'), current_setting('debug_pretty_print')) AS s"
	if got := scannertest.One(t, s, state, nil); got != `off notice "$user", public on` {
		t.Errorf("the session is %s", got)
	}
	start := time.Now()
	for range 20 {
		scannertest.Prepare(t, s, "SELECT 1 AS n")
	}
	t.Logf("a Prepare takes %s", time.Since(start)/20)
}

package probe_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tallyman/rules/probe"
)

// TestAccepted has SQL that only reads, with words that look dangerous but are not.
func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"SELECT 1",
		"select 1;",
		"SELECT 1 ; -- done",
		"  -- a comment first\n/* and /* nested */ */ (SELECT 1)",
		"((SELECT 1) UNION (SELECT 2))",
		"VALUES (1), (2)",
		"TABLE bins",
		"WITH a AS (SELECT 1), b(x) AS MATERIALIZED (SELECT 2) SELECT * FROM a, b",
		"WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n+1 FROM t WHERE n < 5) SELECT sum(n) FROM t",
		"WITH a AS (SELECT 1) (SELECT * FROM a)",
		"WITH a AS (SELECT 1) VALUES (2)",
		"SELECT update_time, deleted, t.delete, t.update FROM t",
		"SELECT x AS deleted, y AS update, 'DELETE FROM t; DROP TABLE t' AS insert FROM t",
		`SELECT "delete", "into", [update] FROM "set_config"`,
		"SELECT replace(replace(name, 'a', 'b'), 'c', 'd') FROM t",
		"SELECT count(delete), (update) FROM t",
		"SELECT row_number() OVER (ORDER BY id), string_agg(x, ',' ORDER BY x) FROM t",
		"SELECT substring(name FOR 3), extract(day FROM ts) FROM t",
		"SELECT $$; DELETE FROM t; $$, $q$ it's; $q$, E'it\\'s; '",
		"SELECT 'it''s; fine' -- ; DELETE",
		"SELECT set_config FROM t",
		"SELECT nextval AS n, setval FROM counters",
		"SELECT a[1:2], arr[:n], ARRAY[1, 2], ARRAY[[1],[2]] FROM t",
		"SELECT pg_sleep(0)",
		"SELECT data #> '{a,b}', data @> '{}', data ? 'k' FROM t",
		"SELECT data ?| ARRAY['a', 'b'], data ?& array['a'], data->'x' ? 'k', (data) ? :key, data @? '$.a', data @@ '$.a > 1' FROM t",
		"SELECT t.data ?| :keys, t.first ? 'k', data[1] ?|'{a}', data ? \"name\", data ? (SELECT 'x'), data ? lower(a) FROM t",
		"SELECT a @> b, a <@b, a @@b, a <@ b, a @@ to_tsquery('x'), a[:2], a[1:2], '?', \"?\" /* ? */ FROM t -- ?",
		"SELECT id FROM bins@other",
		"SELECT 数量, 区１, \"数量（件）\", [货位 号], '“补货”，（1）' FROM t -- 全部（*）",
		"SELECT @@version, $IDENTITY FROM v$session",
		"WITH delete AS (SELECT 1) SELECT * FROM delete",
		"SELECT 1e-3, 0x1f, 0X1E, 0XE-1, 0xE+1, .5, 1_000, 1.5d, 2f, 1., 0b11, 0o17, 1e3",
		"SELECT u & 'x', U&1, u&(2), U & \"x\" FROM t",
		"SELECT t.into, t.for, t.as, s.t.lock FROM s.for AS update",
	} {
		if _, faults := probe.Parse(sql); len(faults) > 0 {
			t.Errorf("%s\n  refused: %+v", sql, faults)
		}
	}
}

// TestRefused has SQL that cannot be a probe. | marks the place of the fault.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, sql string }{
		{probe.CodeEmpty, "|"},
		{probe.CodeEmpty, "| -- nothing\n"},
		{probe.CodeEmpty, "|;"},
		{probe.CodeSeveral, "SELECT 1; |DELETE FROM t"},
		{probe.CodeSeveral, "SELECT ';'; |SELECT 2;"},
		{probe.CodeSeveral, "SELECT 1;|;"},
		{probe.CodeSeveral, "SELECT 'é'; |COMMIT"},
		{probe.CodeWrites, "|UPDATE t SET x = 1"},
		{probe.CodeWrites, "|delete from t"},
		{probe.CodeWrites, "|CREATE TABLE t (x int)"},
		{probe.CodeWrites, "(|DELETE FROM t)"},
		{probe.CodeWrites, "WITH d AS (|DELETE FROM t RETURNING *) SELECT * FROM d"},
		{probe.CodeWrites, "WITH d AS NOT MATERIALIZED (/* x */ |insert INTO t VALUES (1) RETURNING 1) SELECT 1"},
		{probe.CodeWrites, "WITH d AS (|UPDATE ONLY t SET x = 1 RETURNING x) SELECT * FROM d"},
		{probe.CodeWrites, `WITH d AS (|UPDATE "t" SET x = 1 RETURNING x) SELECT * FROM d`},
		{probe.CodeWrites, "WITH d AS (|MERGE INTO t USING s ON true WHEN MATCHED THEN DO NOTHING RETURNING 1) SELECT 1"},
		{probe.CodeWrites, "WITH a AS (SELECT 1) |DELETE FROM t"},
		{probe.CodeWrites, "WITH a AS (SELECT 1), update AS (SELECT 2) |UPDATE t SET x = 1"},
		{probe.CodeWrites, "WITH a AS (SELECT 1) |REPLACE INTO t SELECT * FROM a"},
		{probe.CodeWrites, "SELECT * |INTO t2 FROM t"},
		{probe.CodeLocks, "SELECT * FROM t |FOR UPDATE"},
		{probe.CodeLocks, "SELECT * FROM t |for no key update"},
		{probe.CodeLocks, "SELECT * FROM (SELECT * FROM t |FOR SHARE) x"},
		{probe.CodeLocks, "SELECT * FROM t |LOCK IN SHARE MODE"},
		{probe.CodeLocks, "SELECT |pg_advisory_lock(1)"},
		{probe.CodeLocks, "SELECT |pg_try_advisory_xact_lock (1)"},
		{probe.CodeSession, "|SET statement_timeout = 0"},
		{probe.CodeSession, "|COMMIT"},
		{probe.CodeSession, "|PRAGMA writable_schema = 1"},
		{probe.CodeSession, "|ATTACH 'x.db' AS x"},
		{probe.CodeSession, "SELECT |set_config('a', 'b', false)"},
		{probe.CodeSession, "SELECT pg_catalog.|SET_CONFIG('a', 'b', false)"},
		{probe.CodeSession, `SELECT |"set_config"('a', 'b', false)`},
		{probe.CodeFunction, "SELECT |nextval('s')"},
		{probe.CodeFunction, "SELECT * FROM |dblink('host=x', 'DELETE FROM t') AS t(x int)"},
		{probe.CodeFunction, "SELECT |pg_read_file('/etc/passwd')"},
		{probe.CodeFunction, "SELECT |load_extension('x')"},
		{probe.CodeFunction, "SELECT |writefile('x', 'y')"},
		{probe.CodeFunction, "SELECT |pg_terminate_backend(1)"},
		{probe.CodeFunction, "SELECT |query_to_xml('DELETE FROM t', true, true, '')"},
		{probe.CodeNotSelect, "|EXPLAIN SELECT 1"},
		{probe.CodeNotSelect, "|SHOW ALL"},
		{probe.CodeNotSelect, "|:x"},
		{probe.CodeNotSelect, "|'a text that is far too long to be shown whole in a message'"},
		{probe.CodeNotSelect, "SELECT 1 |/*! INTO OUTFILE 'x' */"},
		{probe.CodeNotSelect, "SELECT 1 |/*M!100100 INTO OUTFILE 'x' */"},
		{probe.CodeNotSelect, "SELECT |1INTO x"},
		{probe.CodeNotSelect, "SELECT |1.INTO x"},
		{probe.CodeNotSelect, "SELECT |1e1INTO OUTFILE '/tmp/x'"},
		{probe.CodeNotSelect, "SELECT .|5INTO OUTFILE '/tmp/x'"},
		{probe.CodeNotSelect, "SELECT |0x1fINTO OUTFILE '/tmp/x'"},
		{probe.CodeNotSelect, "SELECT |2nd FROM bins"},
		{probe.CodeNotSelect, "SELECT x FROM t WHERE x = |1FOR UPDATE"},
		{probe.CodeEscaped, `SELECT |U&"pg\005fterminate\005fbackend"(1)`},
		{probe.CodeEscaped, `SELECT |u&"pg!005fsleep" UESCAPE '!' (1)`},
		{probe.CodeEscaped, `SELECT pg_catalog.|U&"d!0061ta" FROM t`},
		{probe.CodeEscaped, `SELECT x = |U&'d\0061ta' FROM t`},
		{probe.CodeWrites, "SELECT t.as |INTO x FROM t"},
		{probe.CodeWrites, "SELECT 1 AS as |INTO x"},
		{probe.CodeWrites, "SELECT replace(a) |INTO x FROM t"},
		{probe.CodeWrites, "SELECT t.insert |INTO x FROM t"},
		{probe.CodeLocks, "SELECT * FROM s.as |FOR UPDATE"},
		{probe.CodeLocks, "SELECT * FROM s.t AS for |FOR SHARE"},
		{probe.CodeLocks, "SELECT * FROM s.as |LOCK IN SHARE MODE"},
		{probe.CodeFunction, "SELECT * FROM |ts_stat('SELECT 1')"},
		{probe.CodeUnterminated, "SELECT |'abc"},
		{probe.CodeUnterminated, "SELECT |E'abc\\'"},
		{probe.CodeUnterminated, "SELECT |\"abc"},
		{probe.CodeUnterminated, "SELECT 1 |/* /* */"},
		{probe.CodeUnterminated, "SELECT |$q$ abc $$"},
		{probe.CodeFullWidth, "SELECT sku|， qty FROM t"},
		{probe.CodeFullWidth, "SELECT '，' FROM t WHERE a |＞ 0"},
		{probe.CodeFullWidth, "SELECT a FROM t WHERE a =|　1"},
		{probe.CodeFullWidth, "SELECT a FROM t WHERE a = |１２"},
		{probe.CodeFullWidth, "SELECT a FROM t WHERE 数量|≥ :n"},
		{probe.CodeParameter, "SELECT |$1"},
		{probe.CodeParameter, "SELECT |? FROM t"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a = |?"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a =|?"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a = |?1"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a |?1"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a IN (|?)"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a BETWEEN 1 AND |?"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a LIKE |? ORDER BY a"},
		{probe.CodeParameter, "SELECT a FROM t LIMIT |?"},
		{probe.CodeParameter, "SELECT a FROM t FETCH FIRST |? ROWS ONLY"},
		{probe.CodeParameter, "SELECT a FROM t WHERE at > now() - INTERVAL |? DAY"},
		{probe.CodeParameter, "SELECT '%' {OR} |? {OR} '%'"},
		{probe.CodeParameter, "SELECT CASE WHEN a THEN |? ELSE 0 END FROM t"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a > |@p"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a >|@p1"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a = |@`p`"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a = |$p"},
		{probe.CodeParameter, "SELECT a FROM t WHERE a = |:1"},
		{probe.CodeParameter, "SELECT a FROM t WHERE (a, b) > (1, |:2)"},
	} {
		at := len([]rune(strings.ReplaceAll(c.sql[:strings.IndexByte(c.sql, '|')], "{OR}", "||")))
		sql := strings.ReplaceAll(strings.Replace(c.sql, "|", "", 1), "{OR}", "||")
		stmt, faults := probe.Parse(sql)
		switch {
		case len(faults) != 1 || stmt != nil:
			t.Errorf("%s\n  want one %s, got %+v", c.sql, c.code, faults)
		case faults[0].Code != c.code || faults[0].Offset != at || faults[0].Message == "":
			t.Errorf("%s\n  want %s at %d, got %+v", c.sql, c.code, at, faults[0])
		}
	}
}

func TestAllFaultsAreReported(t *testing.T) {
	t.Parallel()
	_, faults := probe.Parse("SELECT nextval('s'), set_config('a', 'b', true) INTO x FROM t FOR UPDATE; COMMIT")
	var codes []string
	for _, f := range faults {
		codes = append(codes, f.Code)
	}
	got := strings.Join(codes, " ")
	want := "sql_function sql_session sql_writes sql_locks sql_several_statements"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestNamesHideNothing uses every keyword as the name of a column, a table or an alias. The check of the SQL after such
// a name must stay the same.
func TestNamesHideNothing(t *testing.T) {
	t.Parallel()
	words := []string{"as", "into", "for", "lock", "select", "insert", "replace", "merge", "delete", "update", "with", "from", "share"}
	tails := map[string]string{
		" INTO made": probe.CodeWrites, " FOR UPDATE": probe.CodeLocks, " FOR NO KEY UPDATE": probe.CodeLocks, " FOR KEY SHARE": probe.CodeLocks,
		"\nFOR/**/SHARE": probe.CodeLocks, " LOCK IN SHARE MODE": probe.CodeLocks, ", set_config('a', 'b', false)": probe.CodeSession,
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom(words)
		name := func() string {
			parts := []string{"t"}
			for range rapid.IntRange(1, 3).Draw(t, "parts") {
				parts = append(parts, word.Draw(t, "part"))
			}
			return strings.Join(parts, rapid.SampledFrom([]string{".", " . ", "./**/"}).Draw(t, "point"))
		}
		sql := "SELECT " + name()
		for range rapid.IntRange(0, 3).Draw(t, "columns") {
			sql += rapid.SampledFrom([]string{", " + name(), ", x AS " + word.Draw(t, "alias"), ", replace(x, 'a', 'b')", ` AS "as"`}).Draw(t, "column")
		}
		if rapid.Bool().Draw(t, "from") {
			sql += " FROM " + name() + rapid.SampledFrom([]string{"", " AS " + word.Draw(t, "alias"), " x"}).Draw(t, "aliased")
		}
		tail := rapid.SampledFrom(slices.Sorted(maps.Keys(tails))).Draw(t, "tail")
		if _, faults := probe.Parse(sql + tail); !slices.ContainsFunc(faults, func(f probe.Fault) bool { return f.Code == tails[tail] }) {
			t.Fatalf("%s%s: %+v", sql, tail, faults)
		}
	})
}

// FuzzGuard checks all SQL that Parse accepts. Parse must refuse the SQL with INTO, FOR UPDATE or a call of a refused
// function after it. It must also refuse it with an escaped name or an executable comment in the place of any blank.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{
		"SELECT t.as FROM s.as", "SELECT 1 AS as", "SELECT t.insert, replace(a, b) FROM t", "WITH a AS (SELECT 1) SELECT * FROM a -- x", "VALUES (1)",
		"SELECT 1 FROM t x", "SELECT [a b], `c` FROM t", "SELECT $$x$$, E'\\''", "SELECT u&1, U & 'x'", "SELECT 1. AS n", "SELECT a[1:2] FROM t;",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if _, faults := probe.Parse(sql); len(faults) > 0 {
			return
		}
		tokens, _ := probe.Lex(sql)
		last := tokens[len(tokens)-1]
		before := len(tokens) < 2
		if last.Is(".") || last.Is("as") || last.Is(";") || before && last.Is("(") {
			return // what follows is a name, or another statement
		}
		for _, tail := range []string{"INTO x", "FOR UPDATE", "FOR SHARE", "LOCK IN SHARE MODE", ", pg_terminate_backend(1)", `, "PG_SLEEP"(U&"x")`, "/*!50000 x */", "/*M! x */"} {
			if _, faults := probe.Parse(sql + "\n" + tail); len(faults) == 0 {
				t.Errorf("%q is taken with %s", sql, tail)
			}
		}
		for _, token := range tokens[1:] {
			for _, hidden := range []string{` U&"x" `, ` u&'x' `, " /*! x */ "} {
				if _, faults := probe.Parse(sql[:token.Start] + hidden + sql[token.Start:]); len(faults) == 0 {
					t.Errorf("%q is taken with %s at %d", sql, hidden, token.Start)
				}
			}
		}
	})
}

package probe_test

import (
	"strings"
	"testing"

	"tallyman/rules/probe"
)

// TestNumberedParams numbers each occurrence, so that the database sees no parameter twice.
func TestNumberedParams(t *testing.T) {
	t.Parallel()
	stmt := parse(t, `SELECT \:a, ':b' FROM t WHERE x = :x AND at <= :now AND y IN (:x, :y)`)
	for style, want := range map[probe.Style]string{
		probe.At:       "SELECT :a, ':b' FROM t WHERE x = @p1 AND at <= CAST(@p2 AS datetime2) AND y IN (@p3, @p4)",
		probe.Numbered: "SELECT :a, ':b' FROM t WHERE x = :1 AND at <= CAST(:2 AS TIMESTAMP) AND y IN (:3, :4)",
	} {
		sql, order := stmt.Render(style)
		if sql != want || strings.Join(order, " ") != "x now x y" {
			t.Errorf("%s with %v, want %s", sql, order, want)
		}
	}
}

// TestSQLServer has probes that SQL Server accepts, and probes that Parse accepts and SQL Server would read in another
// way.
func TestSQLServer(t *testing.T) {
	t.Parallel()
	judge(t, probe.SQLServer, map[string]string{
		`SELECT TOP (10) [Bin Code], "Order", N'it''s' AS v FROM dbo.bins WITH (NOLOCK) ORDER BY qty OFFSET 5 ROWS FETCH NEXT 10 ROWS ONLY`: "",
		"SELECT a.id FROM a INNER MERGE JOIN b ON b.id = a.id OPTION (MERGE JOIN, USE HINT('ENABLE_QUERY_OPTIMIZER_HOTFIXES'))":             "",
		"SELECT CASE WHEN @@ROWCOUNT > 0 THEN 1 END AS n, t.[set], t.[delete], x.update FROM t CROSS APPLY t.x.nodes('a') AS x(u);":         "",
		"SELECT id FROM bins WHERE id = :id AND at <= :now AND at AT TIME ZONE 'UTC' > :now":                                                "",
		"SELECT 1 AS a DELETE FROM bins":                                       "sql_several_statements DELETE",
		"SELECT 1 AS a EXEC sp_who":                                            "sql_several_statements EXEC",
		"SELECT a.id FROM a WHERE 1 = 1 TRUNCATE TABLE bins":                   "sql_several_statements TRUNCATE",
		"SELECT 1 AS a WAITFOR DELAY '01:00:00'":                               "sql_several_statements WAITFOR",
		"SELECT 1 AS a COMMIT":                                                 "sql_several_statements COMMIT",
		"SELECT 1 AS a SET LOCK_TIMEOUT -1":                                    "sql_several_statements SET",
		"SELECT 1 AS a MERGE bins USING b ON 1 = 1":                            "sql_several_statements MERGE",
		"SELECT 1 AS a USE master":                                             "sql_several_statements USE",
		"SELECT $$ DELETE FROM bins -- $$ AS v":                                "sql_not_select single quotes",
		`SELECT E'\' DELETE FROM bins --' AS v`:                                "sql_not_select single quotes",
		"SELECT `a` FROM bins":                                                 "sql_not_select backticks",
		"SELECT [it's] FROM bins DELETE FROM bins --'":                         "sql_not_select brackets",
		"SELECT qty@x FROM bins":                                               "sql_parameter variable",
		"SELECT data ? 'k' FROM bins":                                          "sql_parameter position",
		"SELECT NEXT VALUE FOR numbers AS n":                                   "sql_function sequence",
		"SELECT * FROM sys.fn_xe_file_target_read_file('x', NULL, NULL, NULL)": "sql_function files",
		"SELECT * FROM [sys].[dm_os_file_exists]('x')":                         "sql_function files",
		"SELECT dbo.xp_dirtree('x') AS n":                                      "sql_function xp_dirtree",
		"SELECT * FROM OPENQUERY(other, 'DELETE FROM bins')":                   "sql_function OPENQUERY",
		"SELECT id FROM bins WITH (UPDLOCK, ROWLOCK)":                          "sql_locks UPDLOCK",
		"SELECT id FROM bins WITH (NOLOCK, INDEX(a), TABLOCKX)":                "sql_locks TABLOCKX",
		"SELECT id FROM (SELECT 1 AS id) AS t (id) DROP TABLE b":               "sql_several_statements DROP",
		"WITH a AS (SELECT 1 AS id) SELECT id FROM a PRINT 'gone'":             "sql_several_statements PRINT",
	})
}

// TestOracle is TestSQLServer for Oracle.
func TestOracle(t *testing.T) {
	t.Parallel()
	judge(t, probe.Oracle, map[string]string{
		`SELECT /*+ INDEX(b) */ b."Order", DBMS_LOB.SUBSTR(note, 10) AS note, q AS q FROM wms.bins b WHERE id = :id -- the end`: "",
		"SELECT id FROM bins WHERE at <= :now FETCH FIRST 10 ROWS ONLY /* one */ /* two */":                                     "",
		"SELECT id FROM bins;":                                    "sql_not_select semicolon",
		"SELECT q'[it's]' AS v, ' FROM bins":                      "sql_not_select q'…' texts",
		"SELECT nq'<a>' AS v FROM dual":                           "sql_not_select q'…' texts",
		"SELECT $$x$$ AS v FROM dual":                             "sql_not_select E'…'",
		`SELECT E'x' AS v FROM dual`:                              "sql_not_select E'…'",
		"SELECT `a` FROM bins":                                    "sql_not_select double quotes",
		"SELECT [a] FROM bins":                                    "sql_not_select double quotes",
		"SELECT id FROM bins@other":                               "sql_function database link",
		"SELECT data ? 'k' FROM bins":                             "sql_parameter position",
		"WITH FUNCTION f RETURN NUMBER IS x SELECT 1 FROM f":      "sql_function FUNCTION",
		"SELECT numbers.NEXTVAL FROM dual":                        "sql_function sequence",
		`SELECT "UTL_HTTP".REQUEST('http://x') AS v FROM dual`:    "sql_function UTL_HTTP",
		"SELECT HTTPURITYPE('http://x').getclob() AS v FROM dual": "sql_function HTTPURITYPE",
		"SELECT BFILENAME('DIR', 'x') AS v FROM dual":             "sql_function BFILENAME",
		"SELECT UTL_HTTP.REQUEST('http://x') AS v FROM dual":      "sql_function UTL_HTTP",
		"SELECT 1 AS n /* a /* b */ , secret */ */ FROM dual":     "sql_not_select nest",
		"SELECT 1 AS n FROM dual /* a /* b */ */":                 "sql_not_select nest",
	})
}

func judge(t *testing.T, check func(string) []probe.Fault, cases map[string]string) {
	t.Helper()
	for sql, want := range cases {
		_, faults := probe.Parse(sql)
		if len(faults) > 0 {
			if want != "" {
				t.Errorf("%s is refused by Parse: %+v", sql, faults)
			}
			continue
		}
		faults = check(sql)
		if want == "" {
			if len(faults) > 0 {
				t.Errorf("%s: %+v", sql, faults)
			}
			continue
		}
		code, text, _ := strings.Cut(want, " ")
		if len(faults) == 0 || faults[0].Code != code || !strings.Contains(faults[0].Message, text) {
			t.Errorf("%s: %+v, want %s", sql, faults, want)
		}
	}
}

// TestMySQL has probes that MySQL and MariaDB accept, and probes that Parse accepts and these servers would read in
// another way. Most of the latter would write something, or read outside of the database.
func TestMySQL(t *testing.T) {
	t.Parallel()
	judge(t, probe.MySQL, map[string]string{
		"SELECT `bin code`, \"order\", 'it''s' AS v, N'x' AS n, x'00ff' AS b FROM bins -- the end":                "",
		"SELECT /*+ NO_MERGE(b) */ id /* one */ -- two\n\tFROM bins b --\n WHERE a->>'$.x' = 1 AND c <=> d AND e": "",
		"SELECT @@version AS v, @@session.time_zone AS z, 1.5e-3 AS n, 0x1f AS h, 0b101 AS i, 1. AS f, 7 FROM t;": "",
		"SELECT 1 AS n -- a\u00a0b /* not one\nFROM t --":                                                         "",
		"SELECT id FROM bins WHERE id = :id AND at <= :now /* :x */":                                              "",
		"SELECT 货位, \"माल\", '€' AS v FROM bins -- €":                                                             "",

		"SELECT 1 # '\n INTO OUTFILE '/tmp/x' -- '":           "sql_not_select # begins",
		"SELECT 1 --1 INTO OUTFILE '/tmp/x'":                  "sql_not_select -- begins",
		"SELECT 1 --\x01 INTO OUTFILE '/tmp/x'":               "sql_not_select -- begins",
		"SELECT 1 /* /* */ INTO OUTFILE '/tmp/x' -- */ */":    "sql_not_select nest",
		"SELECT 1 AS $$, 2 INTO OUTFILE '/tmp/x' -- $$":       "sql_not_select $…$",
		"SELECT 1 AS $a$, 2 INTO OUTFILE '/tmp/x' -- $a$":     "sql_not_select $…$",
		`SELECT 1 AS E'\' INTO OUTFILE ' -- '`:                "sql_not_select E'…'",
		"SELECT 1 -- x\x00 INTO OUTFILE '/tmp/x'":             "sql_not_select NUL",
		"SELECT [a] FROM bins":                                "sql_not_select brackets",
		"SELECT क€() AS n":                                    "sql_not_select no letter",
		"SELECT id FROM माल":                                  "sql_not_select no letter",
		"SELECT @ x := qty FROM bins":                         "sql_session variable",
		"SELECT data ? 'k' FROM bins":                         "sql_parameter position",
		"SELECT /*+ MAX_EXECUTION_TIME(0) */ 1":               "sql_session hint",
		"SELECT /*+ NO_MERGE(a) set_var(sql_mode='') */ 1":    "sql_session hint",
		"SELECT 1 AS n, 'a' -- b\n /*+ x */ /*+ SET_VAR(x)*/": "sql_session hint",
	})
}

// TestRefusedForMySQL has SQL that Parse itself refuses for all databases.
func TestRefusedForMySQL(t *testing.T) {
	t.Parallel()
	for sql, code := range map[string]string{
		"SELECT 1 INTO OUTFILE '/tmp/x'":                             probe.CodeWrites,
		"SELECT 1 INTO DUMPFILE '/tmp/x'":                            probe.CodeWrites,
		"SELECT 1 INTO @x":                                           probe.CodeWrites,
		"SELECT @x := qty FROM bins":                                 probe.CodeParameter,
		"SELECT qty FROM bins WHERE id > @last":                      probe.CodeParameter,
		"SELECT 1 FROM a UNION (SELECT 2 INTO OUTFILE '/tmp/x')":     probe.CodeWrites,
		"SELECT LOAD_FILE('/etc/passwd')":                            probe.CodeFunction,
		"SELECT GET_LOCK('x', 10)":                                   probe.CodeLocks,
		"SELECT `get_lock`('x', 10)":                                 probe.CodeLocks,
		"SELECT RELEASE_ALL_LOCKS()":                                 probe.CodeLocks,
		"SELECT NEXTVAL(s)":                                          probe.CodeFunction,
		"SELECT group_replication_switch_to_single_primary_mode('')": probe.CodeFunction,
		"SELECT sys_exec('rm')":                                      probe.CodeFunction,
		"SELECT * FROM a FOR UPDATE":                                 probe.CodeLocks,
		"SELECT * FROM a FOR SHARE SKIP LOCKED":                      probe.CodeLocks,
		"SELECT * FROM a LOCK IN SHARE MODE":                         probe.CodeLocks,
		"SELECT 1 /*! INTO OUTFILE '/tmp/x' */":                      probe.CodeNotSelect,
		"SELECT 1 /*!50000 INTO OUTFILE '/tmp/x' */":                 probe.CodeNotSelect,
		"SELECT 1 /*M! INTO OUTFILE '/tmp/x' */":                     probe.CodeNotSelect,
		"SELECT 1 /*M!100000 INTO OUTFILE '/tmp/x' */":               probe.CodeNotSelect,
		"SET STATEMENT max_statement_time=0 FOR SELECT 1":            probe.CodeSession,
		"DO SLEEP(5)": probe.CodeSession,
		"CALL p()":    probe.CodeSession,
		"LOAD DATA LOCAL INFILE 'x' INTO TABLE t": probe.CodeSession,
		"HANDLER t OPEN":         probe.CodeNotSelect,
		"SELECT 1; DROP TABLE t": probe.CodeSeveral,
	} {
		if _, faults := probe.Parse(sql); len(faults) == 0 || faults[0].Code != code {
			t.Errorf("%s: %+v, want %s", sql, faults, code)
		}
	}
}

package probe_test

import (
	"testing"

	"tallyman/rules/probe"
)

// TestMySQL holds probes for MySQL and MariaDB: those that pass, and those that Parse passes and the server would read otherwise,
// most of them so that something would be written or read outside of the database.
func TestMySQL(t *testing.T) {
	t.Parallel()
	judge(t, probe.MySQL, map[string]string{
		"SELECT `bin code`, \"order\", 'it''s' AS v, N'x' AS n, x'00ff' AS b FROM bins -- the end":                "",
		"SELECT /*+ NO_MERGE(b) */ id /* one */ -- two\n\tFROM bins b --\n WHERE a->>'$.x' = 1 AND c <=> d AND e": "",
		"SELECT @@version AS v, @@session.time_zone AS z, 1.5e-3 AS n, 0x1f AS h, 0b101 AS i, 1. AS f, 7 FROM t;": "",
		"SELECT 1 AS n -- a\u00a0b /* not one\nFROM t --":                                                         "",
		"SELECT id FROM bins WHERE id = :id AND at <= :now /* :x */":                                              "",

		"SELECT 1 # '\n INTO OUTFILE '/tmp/x' -- '":           "sql_not_select # begins",
		"SELECT 1 --1 INTO OUTFILE '/tmp/x'":                  "sql_not_select -- begins",
		"SELECT 1 --\x01 INTO OUTFILE '/tmp/x'":               "sql_not_select -- begins",
		"SELECT 1 /* /* */ INTO OUTFILE '/tmp/x' -- */ */":    "sql_not_select nest",
		"SELECT 1 AS $$, 2 INTO OUTFILE '/tmp/x' -- $$":       "sql_not_select $…$",
		"SELECT 1 AS $a$, 2 INTO OUTFILE '/tmp/x' -- $a$":     "sql_not_select $…$",
		`SELECT 1 AS E'\' INTO OUTFILE ' -- '`:                "sql_not_select E'…'",
		"SELECT 1 -- x\x00 INTO OUTFILE '/tmp/x'":             "sql_not_select NUL",
		"SELECT [a] FROM bins":                                "sql_not_select brackets",
		"SELECT @x := qty FROM bins":                          "sql_session variable",
		"SELECT qty FROM bins WHERE id > @last":               "sql_session variable",
		"SELECT @`x` FROM bins":                               "sql_session variable",
		"SELECT ? FROM bins":                                  "sql_parameter position",
		"SELECT /*+ MAX_EXECUTION_TIME(0) */ 1":               "sql_session hint",
		"SELECT /*+ NO_MERGE(a) set_var(sql_mode='') */ 1":    "sql_session hint",
		"SELECT 1 AS n, 'a' -- b\n /*+ x */ /*+ SET_VAR(x)*/": "sql_session hint",
	})
}

// TestRefusedForMySQL holds what Parse itself refuses, whatever the database.
func TestRefusedForMySQL(t *testing.T) {
	t.Parallel()
	for sql, code := range map[string]string{
		"SELECT 1 INTO OUTFILE '/tmp/x'":                             probe.CodeWrites,
		"SELECT 1 INTO DUMPFILE '/tmp/x'":                            probe.CodeWrites,
		"SELECT 1 INTO @x":                                           probe.CodeWrites,
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

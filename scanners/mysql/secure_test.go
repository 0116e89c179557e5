package mysql_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
)

// TestSecondLock runs statements that rules/probe would refuse, as a user with all rights. The read-only transaction
// refuses them, or Prepare does, because they return no columns.
func TestSecondLock(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "CREATE TABLE bins (id int); INSERT INTO bins VALUES (1); CREATE TABLE aria (id int) ENGINE = Aria; CREATE SEQUENCE seq")
	s := open(t, mysql.Config{URL: d.URL(), MaxConnections: 1})
	file := filepath.Join(t.TempDir(), "out")
	if err := os.Chmod(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	for sql, code := range map[string]scanners.Code{
		"DELETE FROM bins":                                   scanners.CodeReadOnly,
		"INSERT INTO bins VALUES (2) RETURNING id":           scanners.CodeReadOnly,
		"DELETE FROM aria RETURNING id":                      scanners.CodeReadOnly,
		"DELETE FROM bins RETURNING id":                      scanners.CodeReadOnly,
		"CREATE TABLE made (x int)":                          scanners.CodeReadOnly,
		"CREATE TEMPORARY TABLE made AS SELECT 1 AS x":       scanners.CodeStatement,
		"DROP TABLE bins":                                    scanners.CodeStatement,
		"TRUNCATE bins":                                      scanners.CodeStatement,
		"SET SESSION TRANSACTION READ WRITE":                 scanners.CodeStatement,
		"COMMIT":                                             scanners.CodeStatement,
		"SELECT 1 AS id INTO OUTFILE '" + file + "'":         scanners.CodeStatement,
		"SELECT 1 AS id INTO DUMPFILE '" + file + "'":        scanners.CodeStatement,
		"SELECT 1 AS id INTO @x":                             scanners.CodeStatement,
		"SELECT 1 AS id /*M! INTO OUTFILE '" + file + "' */": scanners.CodeStatement,
		"SELECT NEXTVAL(seq) AS id":                          scanners.CodeReadOnly,
		"SELECT * FROM bins FOR UPDATE":                      scanners.CodeReadOnly,
		"SELECT 1 AS id; DELETE FROM bins":                   scanners.CodeStatement,
		"SET GLOBAL max_connections = 5":                     scanners.CodeStatement,
		"SET STATEMENT sql_mode = '' FOR DELETE FROM bins":   scanners.CodeReadOnly,
	} {
		wantCode(t, sql, mysql.RunText(t.Context(), s, sql), code, "")
	}
	if made, _ := filepath.Glob(file + "*"); len(made) != 0 {
		t.Errorf("files were made: %v", made)
	}
	db := owner(t, d)
	defer func() { _ = db.Close() }()
	var state string
	err := db.QueryRowContext(t.Context(), "SELECT CONCAT_WS(' ', (SELECT count(*) FROM bins), (SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()), LASTVAL(seq) IS NULL)").Scan(&state)
	if err != nil || state != "1 3 1" {
		t.Errorf("something was written: %s, %v", state, err)
	}
}

// TestNothingRunsForEver waits in every way that a SELECT has, including those that rules/probe refuses.
func TestNothingRunsForEver(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	s := open(t, mysql.Config{URL: d.URL(), MaxConnections: 1, StatementTimeout: 200 * time.Millisecond})
	for _, sql := range []string{
		"SELECT SLEEP(1000) AS n", "SELECT BENCHMARK(1000000000000, MD5('x')) AS n", "SELECT MASTER_POS_WAIT('x', 1, 1000) AS n, SLEEP(1000) AS m",
		"SELECT GET_LOCK('x', 1000) AS n, SLEEP(1000) AS m", "SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(1000) AS n",
		"SELECT count(*) AS n FROM seq_1_to_1000000 a, seq_1_to_1000000 b WHERE a.seq + b.seq < 0",
	} {
		start := time.Now()
		err := mysql.RunText(t.Context(), s, sql)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: it took %s", sql, took)
		}
		if !strings.Contains(sql, "BENCHMARK") || err != nil { // which just ends when it is killed
			wantCode(t, sql, err, scanners.CodeTimeout, "")
		}
		nothingRuns(t, d)
	}
}

// nothingRuns waits until only its own statement runs on the database.
func nothingRuns(t *testing.T, d testenv.MariaDatabase) {
	t.Helper()
	db := owner(t, d)
	defer func() { _ = db.Close() }()
	testenv.Eventually(t, func() bool {
		var running int
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND COMMAND <> 'Sleep' AND ID <> CONNECTION_ID()").Scan(&running)
		return err == nil && running == 0
	}, 10*time.Second)
}

// TestSessionFunctions has a function that stores a value for the next scan. The next scan must not find it, because
// each scan has its own session.
func TestSessionFunctions(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, `CREATE FUNCTION remember() RETURNS int BEGIN SET @seen = COALESCE(@seen, 0) + 1; RETURN @seen; END;
		CREATE FUNCTION stash() RETURNS int BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS stashed (id int); INSERT INTO stashed VALUES (1); RETURN (SELECT count(*) FROM stashed); END`)
	s := open(t, mysql.Config{URL: d.URL(), MaxConnections: 1, Functions: allowed(d.Name+".remember", d.Name+".stash")})
	for range 3 {
		if got := one(t, s, "SELECT remember() AS n"); got != "1" {
			t.Errorf("the session remembers %s", got)
		}
	}
	_, err := prepare(t, s, "SELECT stash() AS n").Scan(t.Context(), scanners.Request{}, ignore)
	wantCode(t, "a function that makes a table", err, scanners.CodeReadOnly, "a probe may only read")
}

// TestStagedTableIsWritten has a function that writes to a table of the database. It reaches only the staged table, and
// the change is gone at the next statement.
func TestStagedTableIsWritten(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, `CREATE TABLE bins (id int); INSERT INTO bins VALUES (1), (2), (3);
		CREATE FUNCTION clear() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM bins; RETURN 1; END`)
	s := open(t, mysql.Config{URL: d.URL(), MaxConnections: 2, Functions: allowed(d.Name + ".clear")})
	x, err := s.Session(t.Context(), []scanners.StagedTable{{Table: "bins", Columns: []row.Column{{Name: "id", Kind: row.Int}}, Rows: [][]row.Value{{row.IntOf(7)}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	for range 2 {
		one(t, x, "SELECT clear() AS n")
		if got := one(t, x, "SELECT count(*) AS n FROM bins"); got != "1" {
			t.Errorf("the staged table has %s rows", got)
		}
	}
	if got := one(t, s, "SELECT count(*) AS n FROM bins"); got != "3" {
		t.Errorf("the database's own table has %s rows", got)
	}
}

// TestSnapshotOutlivesAStop tests that a session keeps its snapshot while statements fail, time out and are killed.
func TestSnapshotOutlivesAStop(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "CREATE TABLE bins (id int); INSERT INTO bins VALUES (1), (2), (3)")
	s := open(t, mysql.Config{URL: d.URL(), MaxConnections: 2, Functions: allowed("sleep")})
	x, err := s.Session(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	exec(t, d, "DELETE FROM bins")
	series := prepare(t, x, "SELECT seq AS n FROM seq_1_to_2000000000")
	enough := errors.New("enough")
	for range 3 {
		_, err := prepare(t, x, "SELECT SLEEP(100) AS n").Scan(t.Context(), scanners.Request{Timeout: 50 * time.Millisecond}, ignore)
		wantCode(t, "a timeout", err, scanners.CodeTimeout, "")
		if got, err := series.Scan(t.Context(), scanners.Request{MaxRows: 10}, ignore); err != nil || !got.More {
			t.Errorf("capped: %+v, %v", got, err)
		}
		if _, err := series.Scan(t.Context(), scanners.Request{}, func(*row.Row) error { return enough }); !errors.Is(err, enough) {
			t.Error(err)
		}
		if got := one(t, x, "SELECT count(*) AS n FROM bins"); got != "3" {
			t.Errorf("the snapshot has %s rows of 3", got)
		}
	}
}

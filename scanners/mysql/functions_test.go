package mysql_test

import (
	"net/url"
	"strings"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
)

func allowed(names ...string) scanners.Functions { return scanners.Functions{Allowed: names} }

// TestFunctions has Prepare judge the functions of a probe: the server's functions by name, stored functions by their
// declarations, and both behind views.
func TestFunctions(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, `CREATE TABLE bins (id int); CREATE FUNCTION plain() RETURNS int RETURN 1; CREATE FUNCTION looks() RETURNS int READS SQL DATA RETURN (SELECT count(*) FROM bins);
		CREATE FUNCTION none() RETURNS int NO SQL RETURN 1; CREATE FUNCTION writes() RETURNS int MODIFIES SQL DATA BEGIN INSERT INTO bins VALUES (1); RETURN 1; END;
		CREATE VIEW sleepy AS SELECT id, SLEEP(0) AS n FROM bins; CREATE VIEW nested AS SELECT id FROM sleepy; CREATE VIEW stored AS SELECT plain() AS n;
		CREATE VIEW calm AS SELECT id, looks() AS n, RAND() AS r, UUID() AS u FROM bins; CREATE VIEW named AS SELECT 1 AS sleep, SLEEP(0) AS n;
		CREATE VIEW loading AS SELECT 1 AS load_file, LOAD_FILE('/etc/passwd') AS x; CREATE FUNCTION twin() RETURNS int READS SQL DATA RETURN 1; CREATE VIEW twin AS SELECT SLEEP(0) AS n;
		CREATE VIEW quoted AS SELECT 'it''s' AS a, SLEEP(0) AS n, 'b' AS b; CREATE VIEW slashed AS SELECT '\\' AS a, SLEEP(0) AS n, 'b' AS b; CREATE FUNCTION `+"`a``b`"+`() RETURNS int RETURN 1`)
	for sql, says := range map[string]string{
		"SELECT SLEEP(0) AS n":                      "sleep, which waits, and holds its connection",
		"SELECT `sleep`(0) AS n":                    "sleep",
		"SELECT BENCHMARK(1, 1) AS n":               "benchmark",
		"SELECT MASTER_GTID_WAIT('0-1-1', 0) AS n":  "master_gtid_wait",
		"SELECT plain() AS n":                       d.Name + ".plain, which is not declared as READS SQL DATA or NO SQL",
		"SELECT PLAIN() AS n":                       "ALTER FUNCTION " + d.Name + ".plain READS SQL DATA",
		"SELECT " + d.Name + ".plain() AS n":        "sources.wms with the line: functions: [" + d.Name + ".plain]",
		"SELECT \"plain\" () AS n":                  d.Name + ".plain",
		"SELECT writes() AS n":                      "writes, which is declared as MODIFIES SQL DATA",
		"SELECT id FROM sleepy":                     "sleep",
		"SELECT id FROM nested":                     "sleep",
		"SELECT id FROM " + d.Name + ".nested AS x": "sleep",
		"SELECT n FROM stored":                      d.Name + ".plain",
		"SELECT 1 AS sleep, SLEEP(0) AS n":          "sleep",
		"SELECT 1 AS SLEEP, n FROM sleepy":          "sleep",
		"SELECT 1 AS load_file, x FROM loading":     "load_file",
		"SELECT x FROM loading":                     "load_file",
		"SELECT 1 AS plain, plain() AS n":           d.Name + ".plain",
		"SELECT 1 AS plain, n FROM stored":          d.Name + ".plain",
		"SELECT twin() AS t, n FROM twin":           "sleep",
		"SELECT sleep, SLEEP(0) AS n FROM named":    "sleep",
		"SELECT b FROM quoted":                      "sleep",
		"SELECT b FROM slashed":                     "sleep",
		"SELECT " + d.Name + ".sleep AS n, SLEEP(0) AS m FROM (SELECT 1 AS sleep) AS " + d.Name: "sleep",
		"SELECT plaîn() AS n":                               d.Name + ".plain",
		"SELECT `a``b`() AS n":                              d.Name + ".a`b",
		"SELECT looks() AS n, none() AS m, NOW() AS t":      "",
		"SELECT id, n, r FROM calm":                         "",
		"SELECT sleep AS n FROM (SELECT 1 AS sleep) AS s":   "",
		"SELECT COUNT(*) AS n FROM bins WHERE id IN (1, 2)": "",
	} {
		s := open(t, mysql.Config{URL: d.URL(), Functions: scanners.Functions{Source: "wms"}})
		stmt, faults := probe.Parse(sql)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		_, err := s.Prepare(t.Context(), stmt)
		if says == "" {
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			continue
		}
		wantCode(t, sql, err, scanners.CodeFunction, says)
	}
	s := open(t, mysql.Config{URL: d.URL(), Functions: allowed(strings.ToUpper(d.Name)+".Plain", "SLEEP")})
	prepare(t, s, "SELECT plain() + SLEEP(0) AS n")
}

// TestFunctionsOfReader runs as the user that docs/how-to/set-up-a-source.md recommends. If that user may not see the definition of
// a view, the view passes, because the server tells nothing about it.
func TestFunctionsOfReader(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	user := "reader_" + d.Name
	exec(t, d, "CREATE TABLE bins (id int); CREATE FUNCTION plain() RETURNS int RETURN 1; CREATE VIEW stored AS SELECT plain() AS n; CREATE USER "+user+" IDENTIFIED BY 'x'; "+
		"GRANT SELECT, INSERT ON "+d.Name+".bins TO "+user+"; GRANT SELECT ON "+d.Name+".stored TO "+user)
	t.Cleanup(func() { exec(t, d, "DROP USER "+user) })
	u, err := url.Parse(d.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, "x")
	s := open(t, mysql.Config{URL: u.String()})
	prepare(t, s, "SELECT id FROM bins")
	prepare(t, s, "SELECT n FROM stored")
	exec(t, d, "GRANT SHOW VIEW ON "+d.Name+".* TO "+user+"; GRANT EXECUTE ON FUNCTION "+d.Name+".plain TO "+user)
	stmt, _ := probe.Parse("SELECT n FROM stored")
	_, err = s.Prepare(t.Context(), stmt)
	wantCode(t, "with SHOW VIEW", err, scanners.CodeFunction, d.Name+".plain")
}

// TestDangers lists the rights and functions of a user, and runs the proposed SQL.
func TestDangers(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	user := "danger_" + d.Name
	exec(t, d, "CREATE TABLE bins (id int); CREATE FUNCTION plain() RETURNS int RETURN 1; CREATE FUNCTION calm() RETURNS int READS SQL DATA RETURN 1; CREATE USER "+user+" IDENTIFIED BY 'x'; "+
		"GRANT SELECT, INSERT ON "+d.Name+".bins TO "+user+"; GRANT EXECUTE ON FUNCTION "+d.Name+".plain TO "+user+"; GRANT EXECUTE ON FUNCTION "+d.Name+".calm TO "+user+"; GRANT FILE ON *.* TO "+user)
	t.Cleanup(func() { exec(t, d, "DROP USER "+user) })
	u, err := url.Parse(d.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, "x")
	ask := func() (names []string) {
		dangers, err := open(t, mysql.Config{URL: u.String()}).Dangers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, danger := range dangers {
			names = append(names, danger.Name)
			exec(t, d, danger.Revoke)
		}
		return names
	}
	if got := strings.Join(ask(), " "); got != "FILE "+d.Name+".plain INSERT on `"+d.Name+"`.`bins`" {
		t.Error(got)
	}
	if got := ask(); len(got) != 0 {
		t.Errorf("after the REVOKEs: %v", got)
	}
}

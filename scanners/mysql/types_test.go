package mysql_test

import (
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
)

// TestTypes reads columns of types that the suite does not have.
func TestTypes(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	s := open(t, mysql.Config{URL: d.URL()})
	for _, c := range []struct {
		typ, literal string
		kind         row.Kind
		dbType, want string
	}{
		{"tinyint(1)", "1", row.Bool, "tinyint(1)", "true"},
		{"tinyint(1) unsigned", "2", row.Int, "tinyint unsigned", "2"},
		{"tinyint", "-128", row.Int, "tinyint", "-128"},
		{"tinyint unsigned", "255", row.Int, "tinyint unsigned", "255"},
		{"smallint unsigned", "65535", row.Int, "smallint unsigned", "65535"},
		{"mediumint", "-8388608", row.Int, "mediumint", "-8388608"},
		{"mediumint unsigned", "16777215", row.Int, "mediumint unsigned", "16777215"},
		{"int unsigned", "4294967295", row.Int, "int unsigned", "4294967295"},
		{"int(5) zerofill", "42", row.Int, "int unsigned", "42"},
		{"bigint", "-9223372036854775808", row.Int, "bigint", "-9223372036854775808"},
		{"bigint unsigned", "9223372036854775807", row.Int, "bigint unsigned", "9223372036854775807"},
		{"year", "2026", row.Int, "year", "2026"},
		{"bit(1)", "b'1'", row.Bool, "bit(1)", "true"},
		{"bit(1)", "b'0'", row.Bool, "bit(1)", "false"},
		{"bit(12)", "b'100000000001'", row.Int, "bit(12)", "2049"},
		{"bit(64)", "9223372036854775807", row.Int, "bit(64)", "9223372036854775807"},
		{"float", "1.5", row.Float, "float", "1.5"},
		{"double", "-1e300", row.Float, "double", "-1e+300"},
		{"decimal(20,4)", "-1234567890123456.7891", row.Decimal, "decimal(20,4)", "-1234567890123456.7891"},
		{"decimal(65,30)", "12345678901234567890123456789012345.123456789012345678901234567891", row.Decimal, "decimal(65,30)", "12345678901234567890123456789012345.123456789012345678901234567891"},
		{"decimal(10) unsigned", "42", row.Decimal, "decimal(10,0) unsigned", "42"},
		{"char(10)", "'A-01'", row.Text, "char(10)", "A-01"},
		{"varchar(10)", "'A-01 '", row.Text, "varchar(10)", "A-01 "},
		{"varchar(10) character set latin1", "'Grüße'", row.Text, "varchar(10)", "Grüße"},
		{"varchar(10) collate utf8mb4_bin", "'货位'", row.Text, "varchar(10)", "货位"},
		{"tinytext", "'x'", row.Text, "tinytext", "x"},
		{"longtext", "'😀'", row.Text, "longtext", "😀"},
		{"enum('open','done')", "'done'", row.Text, "enum", "done"},
		{"set('a','b','c')", "'a,c'", row.Text, "set", "a,c"},
		{"json", `'{"b":1}'`, row.Text, "longtext", `{"b":1}`},
		{"uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", row.Text, "char(36)", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		{"inet6", "'2001:db8::1'", row.Text, "char(39)", "2001:db8::1"},
		{"binary(3)", "x'0001'", row.Bytes, "binary(3)", "000100"},
		{"varbinary(5)", "x'00ff'", row.Bytes, "varbinary(5)", "00ff"},
		{"mediumblob", "''", row.Bytes, "mediumblob", ""},
		{"date", "'0001-01-01'", row.Date, "date", "0001-01-01"},
		{"date", "'9999-12-31'", row.Date, "date", "9999-12-31"},
		{"datetime", "'2026-06-01 08:00:00'", row.Time, "datetime", "2026-06-01T08:00:00Z"},
		{"datetime(3)", "'1999-12-31 23:59:59.125'", row.Time, "datetime(3)", "1999-12-31T23:59:59.125Z"},
		{"datetime(6)", "'9999-12-31 23:59:59.999999'", row.Time, "datetime(6)", "9999-12-31T23:59:59.999999Z"},
		{"timestamp(6)", "'2026-06-01 08:00:00.000001'", row.Time, "timestamp(6)", "2026-06-01T08:00:00.000001Z"},
		{"time", "'08:30:00'", row.Duration, "time", "8h30m0s"},
		{"time(6)", "'-838:59:58.000001'", row.Duration, "time(6)", "-838h59m58.000001s"},
	} {
		exec(t, d, "CREATE OR REPLACE TABLE v (v "+c.typ+" NULL, n "+c.typ+" NULL); SET time_zone = '+00:00'; INSERT INTO v VALUES ("+c.literal+", NULL)")
		p := prepare(t, s, "SELECT v, n, v AS w FROM v")
		var got []string
		if _, err := p.Scan(t.Context(), scanners.Request{}, func(r *row.Row) error {
			for _, v := range r.Values {
				if !v.IsNull() && v.Kind() != c.kind {
					t.Errorf("%s: the value is %s", c.typ, v.Kind())
				}
				got = append(got, v.String())
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		column := p.Columns()[0]
		if column.Kind != c.kind || column.DBType != c.dbType || !column.Nullable {
			t.Errorf("%s: %+v, want %s %q", c.typ, column, c.kind, c.dbType)
		}
		if len(got) != 3 || got[0] != c.want || got[1] != "" || got[2] != c.want {
			t.Errorf("%s %s: read %q, want %q", c.typ, c.literal, got, c.want)
		}
	}
}

// TestExpressions tests the kinds of expressions, which the server gives.
func TestExpressions(t *testing.T) {
	t.Parallel()
	s := open(t, mysql.Config{URL: testenv.MariaDB(t).URL()})
	at := time.Date(2026, 6, 1, 8, 0, 0, 25e7, time.UTC)
	for sql, want := range map[string]string{
		"1 = 1":                                 "int 1",
		"1 + 0.10":                              "decimal 1.10",
		"1 / 3":                                 "decimal 0.3333",
		"1e0":                                   "float 1",
		"'a' || 'b'":                            "text ab",
		"'a\\b'":                                `text a\b`,
		"\"v\".\"x\"":                           "int 7",
		"NULL":                                  "text ",
		"CAST(:now AS DATE)":                    "date 2026-06-01",
		":now":                                  "time 2026-06-01T08:00:00.25Z",
		":now - INTERVAL 1 HOUR":                "time 2026-06-01T07:00:00.25Z",
		"TIMEDIFF(:now, :until)":                "duration 10m0s",
		"TIMESTAMPDIFF(MINUTE, :until, :now)":   "int 10",
		"COUNT(*)":                              "int 1",
		"SUM(x)":                                "decimal 7",
		"AVG(x)":                                "decimal 7.0000",
		"GROUP_CONCAT(x)":                       "text 7",
		"CAST(:text AS SIGNED)":                 "int 42",
		"CAST(:text AS DECIMAL(10,2))":          "decimal 42.00",
		"COALESCE(:none, 'none')":               "text none",
		":text":                                 "text 42",
		":number":                               "text 5",
		"COALESCE(:flag, FALSE) = 1":            "int 1",
		"CAST('838:00:00' AS TIME) > :span":     "int 1",
		"IF(x > 5, 'many', 'few')":              "text many",
		"JSON_VALUE('{\"a\": 1}', '$.a')":       "text 1",
		"UNIX_TIMESTAMP('1970-01-01 00:00:01')": "int 1",
		"FROM_UNIXTIME(1)":                      "time 1970-01-01T00:00:01Z",
		"(SELECT MAX(x) FROM (SELECT 1 AS x) AS m)": "int 1",
	} {
		p := prepare(t, s, "SELECT "+sql+" AS v FROM (SELECT 7 AS x) AS v")
		args := map[string]any{
			"now": at, "until": at.Add(-10 * time.Minute), "text": "42", "none": nil, "number": int64(5), "flag": true, "span": row.DurationOf(90 * time.Minute),
		}
		got := ""
		_, err := p.Scan(t.Context(), scanners.Request{Args: args}, func(r *row.Row) error {
			got = r.Columns[0].Kind.String() + " " + r.Values[0].String()
			return nil
		})
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", sql, got, err, want)
		}
	}
}

// TestMisfits reads values that the kind of their column cannot hold: the scan fails and names the row. Nothing is
// guessed.
func TestMisfits(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, `SET sql_mode = ''; CREATE TABLE odd (id int, flag tinyint(1), big bigint unsigned, bits bit(64), day date NOT NULL, at datetime NOT NULL);
		INSERT INTO odd VALUES (1, 0, 1, 1, '0000-00-00', '0000-00-00 00:00:00'), (2, 2, 18446744073709551615, 18446744073709551615, '2026-00-00', '2026-06-00 08:00:00')`)
	s := open(t, mysql.Config{URL: d.URL()})
	for column, says := range map[string]string{
		"flag": "column flag holds 2, which is no bool: write it as column + 0 (where id is 2)",
		"big":  "column big holds 18446744073709551615, which is larger than an int can hold: write CAST",
		"bits": "larger than an int can hold",
		"day":  `column day holds "2026-00-00", which is no date (where id is 2)`,
		"at":   `column at holds "2026-06-00 08:00:00", which is no time`,
	} {
		_, err := prepare(t, s, "SELECT id, "+column+" FROM odd ORDER BY id").Scan(t.Context(), scanners.Request{}, ignore)
		wantCode(t, column, err, scanners.CodeFailed, says)
	}
	for sql, want := range map[string]string{
		"SELECT flag + 0 AS v FROM odd WHERE id = 2":                     "2",
		"SELECT CAST(big AS DECIMAL(20)) AS v FROM odd WHERE id = 2":     "18446744073709551615",
		"SELECT CAST(day AS CHAR) AS v FROM odd WHERE id = 2":            "2026-00-00",
		"SELECT day AS v FROM odd WHERE id = 1":                          "",
		"SELECT at AS v FROM odd WHERE id = 1":                           "",
		"SELECT count(*) AS v FROM odd WHERE day = '0000-00-00'":         "1",
		"SELECT count(*) AS v FROM odd WHERE flag":                       "1",
		"SELECT count(*) AS v FROM odd WHERE big > 18446744073709551614": "1",
	} {
		if got := one(t, s, sql); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestNullable tests that NOT NULL is believed only if nothing can have put a NULL in between.
func TestNullable(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, `CREATE TABLE a (id int NOT NULL PRIMARY KEY, n int); CREATE TABLE b (id int NOT NULL, at datetime NOT NULL); INSERT INTO a VALUES (1, NULL);
		CREATE VIEW outer_view AS SELECT b.id AS b_id, a.id FROM a LEFT JOIN b ON b.id = a.id`)
	s := open(t, mysql.Config{URL: d.URL()})
	for sql, nullable := range map[string]bool{
		"SELECT id FROM a": false,
		"SELECT x.id FROM a AS x JOIN a AS y ON y.id = x.id":           false,
		"SELECT id FROM (SELECT id FROM a) AS x":                       false,
		"SELECT COUNT(*) AS c FROM a":                                  false,
		"SELECT n FROM a":                                              true,
		"SELECT at FROM b":                                             true,
		"SELECT b.id FROM a LEFT JOIN b ON b.id = a.id":                true,
		"SELECT b_id FROM outer_view":                                  true,
		"SELECT MAX(id) AS m FROM b":                                   true,
		"SELECT (SELECT id FROM b) AS i FROM a":                        true,
		"SELECT 1 / n AS i FROM a":                                     true,
		"SELECT 1 / 0 AS i FROM a":                                     true,
		"SELECT id FROM a GROUP BY id WITH ROLLUP":                     true,
		"SELECT NULLIF(id, 1) AS i FROM a":                             true,
		"SELECT LAG(id) OVER (ORDER BY id) AS i FROM a":                true,
		"SELECT CAST(CONCAT('x', id) AS DATE) AS i FROM a":             true,
		"SELECT ELT(5, 'x') AS i FROM a":                               true,
		"SELECT STR_TO_DATE('x', '%Y') AS i FROM a":                    true,
		"SELECT CASE WHEN id = 2 THEN id END AS i FROM a":              true,
		"SELECT JSON_VALUE('{}', '$.a') AS i FROM a":                   true,
		"SELECT id FROM a WHERE id = 1 UNION SELECT NULL":              true,
		"SELECT v.b_id FROM (SELECT * FROM outer_view) AS v":           true,
		"SELECT SUM(b.id) AS i FROM a JOIN b ON b.id = a.id":           true,
		"SELECT DATE_ADD('2026-01-31', INTERVAL id MONTH) AS i FROM a": true,
	} {
		p := prepare(t, s, sql)
		if got := p.Columns()[0].Nullable; got != nullable {
			t.Errorf("%s: nullable %v", sql, got)
		}
		if _, err := p.Scan(t.Context(), scanners.Request{}, ignore); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestDrift gives parameters values of other types than the server expects. A value that is a number of the
// column's kind is accepted all the same.
func TestDrift(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "CREATE TABLE p (qty decimal(12,3), n int, at datetime); INSERT INTO p VALUES (1.5, 2, '2026-06-01 08:00:00')")
	s := open(t, mysql.Config{URL: d.URL()})
	decimal, err := row.ParseDecimal("1.25")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sql  string
		arg  any
		want string
	}{
		{"qty * :x", int64(3), "float 4.5"},
		{"qty * :x", 1.5, "float 2.25"},
		{"qty * :x", decimal, "float 1.875"},
		{"qty * CAST(:x AS DECIMAL(12,3))", decimal, "decimal 1.875000"},
		{"qty * CAST(:x AS DECIMAL(12,3))", int64(3), "decimal 4.500000"},
		{"n / :x", int64(4), "float 0.5"},
		{"SUM(n * :x)", int64(3), "float 6"},
		{"COALESCE(n, :x)", 1.5, "int 2"},
		{"COALESCE(n, :x)", decimal, "int 2"},
		{"COALESCE(:x, n)", "7", "int 7"},
		{"COALESCE(qty, :x)", 1.5, "decimal 1.5"},
		{"COALESCE(:x, n)", 1.5, "its type depends on the value of a parameter: write CAST(:name"},
		{"COALESCE(:x, n)", "x", "holds \"x\", which is no int"},
		{"COALESCE(:x, at)", int64(3), "holds \"3\", which is no time"},
	} {
		got := ""
		_, err := prepare(t, s, "SELECT "+c.sql+" AS v FROM p").Scan(t.Context(), scanners.Request{Args: map[string]any{"x": c.arg}}, func(r *row.Row) error {
			got = r.Columns[0].Kind.String() + " " + r.Values[0].String()
			return nil
		})
		if err != nil {
			wantCode(t, c.sql, err, scanners.CodeFailed, c.want)
		} else if got != c.want {
			t.Errorf("%s with %v: %q, want %q", c.sql, c.arg, got, c.want)
		}
	}
}

package scannertest

import (
	"strings"
	"testing"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// sample is a table with a column of each kind: row 1 has values, row 2 NULLs, row 3 other values.
func sample(t testing.TB, d Dialect) (Database, scanners.Source) {
	t.Helper()
	db := d.New(t)
	columns := []string{"id integer NOT NULL"}
	for _, name := range []string{"bool", "small", "big", "ratio", "decimal", "text", "bytes", "date", "time", "zoned", "json"} {
		columns = append(columns, "c_"+name+" "+d.Types[name])
	}
	db.Exec(t, "CREATE TABLE sample ("+strings.Join(columns, ", ")+")")
	first := "(1, TRUE, -3, 9007199254740993, 0.25, -12.50, 'Zoë ''x'' 货位', BYTES, '2026-06-01', '2026-06-01 08:00:00.25', ZONED, '{\"a\": [1]}')"
	second := "(2" + strings.Repeat(", NULL", 11) + ")"
	third := "(3, FALSE, 7, -1, -2.5, 100000, '', NULL, '1999-12-31', '1969-12-31 23:59:59.5', NULL, 'null')"
	insert := "INSERT INTO sample VALUES " + first + ", " + second + ", " + third
	db.Exec(t, strings.NewReplacer("BYTES", d.Bytes, "ZONED", d.Zoned).Replace(insert))
	return db, db.Open(t, 2)
}

func columns(t *testing.T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	p := Prepare(t, s, "SELECT id, c_bool, c_small, c_big, c_ratio, c_decimal, c_text AS \"Name\", c_bytes, c_date, c_time, c_zoned, c_json FROM sample")
	kinds := []row.Kind{
		row.Int, row.Bool, row.Int, row.Int, row.Float, row.Decimal, row.Text, row.Bytes, row.Date, row.Time, row.Time, row.JSON,
	}
	for i, c := range p.Columns() {
		want := kinds[i]
		if other, found := d.Kinds[strings.TrimPrefix(c.Name, "c_")]; found {
			want = other
		}
		if c.Kind != want {
			t.Errorf("column %s is %s, want %s", c.Name, c.Kind, want)
		}
		if c.Nullable != (i != 0) {
			t.Errorf("column %s: nullable %v", c.Name, c.Nullable)
		}
		if c.DBType == "" {
			t.Errorf("column %s has no type of the database's own", c.Name)
		}
	}
	if got := p.Columns()[6].Name; got != "name" {
		t.Errorf("the name is not folded: %s", got)
	}
	outer := Prepare(t, s, "SELECT s.id FROM (SELECT 9 AS nine) x LEFT JOIN sample s ON s.id = x.nine")
	if rows := Rows(t, outer, nil); !outer.Columns()[0].Nullable || !rows[0].Values[0].IsNull() {
		t.Errorf("an outer join makes NULLs: %+v, %v", outer.Columns()[0], rows[0].Values[0])
	}
}

func values(t *testing.T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	rows := Rows(t, Prepare(t, s, "SELECT * FROM sample ORDER BY id"), nil)
	want := [][]string{
		{"1", "true", "-3", "9007199254740993", "0.25", "-12.5", "Zoë 'x' 货位", "00ff", "2026-06-01", "2026-06-01T08:00:00.25Z", "2026-06-01T00:00:00Z", `{"a": [1]}`},
		{"2", "", "", "", "", "", "", "", "", "", "", ""},
		{"3", "false", "7", "-1", "-2.5", "100000", "", "", "1999-12-31", "1969-12-31T23:59:59.5Z", "", "null"},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		for j, v := range r.Values {
			got := v.String()
			if v.Kind() == row.Decimal && strings.Contains(got, ".") {
				got = strings.TrimSuffix(strings.TrimRight(got, "0"), ".") // databases differ in the zeros that they keep
			}
			if got != want[i][j] {
				t.Errorf("row %d: %s is %q, want %q", i+1, r.Columns[j].Name, got, want[i][j])
			}
			if wantNull := want[i][j] == "" && (i != 2 || r.Columns[j].Name != "c_text"); v.IsNull() != wantNull {
				t.Errorf("row %d: %s is NULL: %v", i+1, r.Columns[j].Name, v.IsNull())
			}
			if !v.IsNull() && v.Kind() != r.Columns[j].Kind {
				t.Errorf("row %d: %s is %s in a column of %s", i+1, r.Columns[j].Name, v.Kind(), r.Columns[j].Kind)
			}
		}
	}
}

// statement holds what the database refuses, and how a source says so.
func statement(t *testing.T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	for sql, code := range map[string]scanners.Code{
		"SELECT nope FROM sample":                         scanners.CodeStatement,
		"SELECT id FROM nowhere":                          scanners.CodeStatement,
		"SELECT id FROM":                                  scanners.CodeStatement,
		"SELECT id, small FROM (SELECT 1 AS id) x":        scanners.CodeStatement,
		"SELECT id, c_small AS ID FROM sample":            scanners.CodeColumn,
		"SELECT id AS \"Bin\", id AS \"bIN\" FROM sample": scanners.CodeColumn,
	} {
		_, err := s.Prepare(t.Context(), Parse(t, sql))
		wantError(t, sql, err, code, false)
	}
}

package scannertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// sampleColumns are the columns of the sample table. All names except id have the prefix c_.
var sampleColumns = []string{"id", "bool", "small", "big", "ratio", "decimal", "text", "bytes", "date", "time", "zoned", "json"}

// sample creates a table with a column of each kind. Row 1 has values, row 2 NULLs, row 3 other values.
func sample(t T, d Dialect) (Database, scanners.Source) {
	t.Helper()
	db := d.New(t)
	columns := []string{"id " + d.typeOf("id") + " NOT NULL"}
	for _, name := range sampleColumns[1:] {
		columns = append(columns, "c_"+name+" "+d.typeOf(name))
	}
	db.Exec(t, "CREATE TABLE sample ("+strings.Join(columns, ", ")+")")
	for _, texts := range [][]string{
		{"1", "true", "-3", "9007199254740993", "0.25", "-12.50", "Zoë 'x' 货位", "", "2026-06-01", "2026-06-01 08:00:00.25", "", `{"a": [1]}`},
		append([]string{"2"}, slices.Repeat([]string{"NULL"}, 11)...),
		{"3", "false", "7", "-1", "-2.5", "100000", "", "NULL", "1999-12-31", "1969-12-31 23:59:59.5", "NULL", "null"},
	} {
		for i, name := range sampleColumns {
			texts[i] = d.value(name, texts[i])
		}
		db.Exec(t, "INSERT INTO sample VALUES ("+strings.Join(texts, ", ")+")")
	}
	return db, db.Open(t, 2)
}

func columns(t T, d Dialect) {
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
	outer := Prepare(t, s, "SELECT s.id FROM (SELECT 9 AS nine"+d.From+") x LEFT JOIN sample s ON s.id = x.nine")
	if rows := Rows(t, outer, nil); !outer.Columns()[0].Nullable || !rows[0].Values[0].IsNull() {
		t.Errorf("an outer join makes NULLs: %+v, %v", outer.Columns()[0], rows[0].Values[0])
	}
}

func values(t T, d Dialect) {
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
			if got, want := valueText(v), textOf(want[i][j], d.Kinds[sampleColumns[j]]); got != want {
				t.Errorf("row %d: %s is %q, want %q", i+1, r.Columns[j].Name, got, want)
			}
			if wantNull := want[i][j] == "" && (i != 2 || r.Columns[j].Name != "c_text" || d.EmptyIsNull); v.IsNull() != wantNull {
				t.Errorf("row %d: %s is NULL: %v", i+1, r.Columns[j].Name, v.IsNull())
			}
			if !v.IsNull() && v.Kind() != r.Columns[j].Kind {
				t.Errorf("row %d: %s is %s in a column of %s", i+1, r.Columns[j].Name, v.Kind(), r.Columns[j].Kind)
			}
		}
	}
}

// valueText returns the text of a value. valueText leaves out trailing zeros of decimals, because databases differ in
// them.
func valueText(v row.Value) string {
	text := v.String()
	if v.Kind() == row.Decimal && strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// textOf returns the text of a value in a database where the value is of this kind.
func textOf(text string, kind row.Kind) string {
	switch {
	case kind == row.Int && text == "true":
		return "1"
	case kind == row.Int && text == "false":
		return "0"
	case kind == row.Time && len(text) == len(time.DateOnly):
		return text + "T00:00:00Z"
	}
	return text
}

// params compares columns of each kind with values of each type. One row must match each comparison.
func params(t T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	decimal, err := row.ParseDecimal("-12.5")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 6, 1, 8, 0, 0, 25e7, time.UTC)
	for _, c := range []struct {
		where string
		arg   any
	}{
		{"id = :x", int64(1)},
		{"id = :x", "1"},
		{"id = :x", 1.0},
		{"id = :x", row.IntOf(1)},
		{"c_big = :x", int64(9007199254740993)},
		{"c_big = :x", "9007199254740993"},
		{"c_ratio = :x", 0.25},
		{"c_ratio = :x", "0.25"},
		{"c_decimal < :x", int64(-12)},
		{"c_decimal < :x", -12.25},
		{"c_decimal = :x", decimal},
		{"c_decimal = :x", "-12.50"},
		{"c_text = :x", "Zoë 'x' 货位"},
		{"c_text = :x", row.TextOf("Zoë 'x' 货位")},
		{"c_bool = :x", true},
		{"c_bool = :x", row.BoolOf(true)},
		{"c_bytes = :x", row.BytesOf("\x00\xff")},
		{"c_date = :x", row.DateOf(at)},
		{"c_date = :x", "2026-06-01"},
		{"c_time = :x AND id = 1", at},
		{"c_time = :x AND :x = c_time", row.TimeOf(at)},
		{d.nullCase(), nil},
		{"c_small < :x AND c_small < :x", "0"},
	} {
		p := Prepare(t, s, "SELECT id, c_time FROM sample WHERE "+c.where)
		rows := Rows(t, p, map[string]any{"x": c.arg, "unused": 1})
		if len(rows) != 1 || rows[0].Values[0].Int() != 1 {
			t.Errorf("%s with %v (%T): %d rows", c.where, c.arg, c.arg, len(rows))
		}
	}
	p := Prepare(t, s, "SELECT id FROM sample WHERE id = :warehouse")
	for _, args := range []map[string]any{nil, {"warehous": 1}, {"warehouse": []int{1}}} {
		_, err := p.Scan(t.Context(), scanners.Request{Args: args}, ignore)
		wantError(t, "a scan without its parameter", err, scanners.CodeParam, false)
	}
}

// nullCase returns a condition that holds if :x is NULL.
func (d *Dialect) nullCase() string {
	if d.NoNullKind {
		return "id = 1 AND :x IS NULL"
	}
	return "id = 1 AND COALESCE(:x, id) = id"
}

// builtins binds the engine's own parameters.
func builtins(t T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	at := time.Date(2026, 6, 1, 8, 0, 0, 25e7, time.UTC)
	args := map[string]any{"now": at, "scheduled_at": at, "last_run_at": at.Add(-time.Minute), "until": at.Add(-time.Second), "scope": "1"}
	for where, want := range map[string]int{
		"c_time <= :now":                                         2,
		"c_time < :scheduled_at":                                 1,
		"c_time > :last_run_at AND c_time <= :now":               1,
		"c_time <= :until":                                       1,
		"id = :scope":                                            1,
		"c_date <= :now AND id < 3 AND :now > :until":            1,
		"c_text <> :scope AND c_time > :last_run_at":             1,
		"c_time = :now AND c_time = :now AND :now = c_time":      1,
		"c_time BETWEEN :last_run_at AND :now OR id = :scope":    1,
		"c_time IN (:now, :until, :last_run_at) AND id = :scope": 1,
	} {
		if rows := Rows(t, Prepare(t, s, "SELECT id, c_time FROM sample WHERE "+where), args); len(rows) != want {
			t.Errorf("%s: %d rows, want %d", where, len(rows), want)
		}
	}
}

// watermark reads a table page by page. Each page begins after the last row of the page before, and every row must come
// exactly once.
func watermark(t T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	db.Exec(t, "CREATE TABLE moves (id "+d.typeOf("big")+", qty "+d.typeOf("decimal")+", changed_at "+d.typeOf("time")+")")
	for i, move := range [][2]string{{"0.5", "00"}, {"1.5", "00"}, {"2.5", "00.125"}, {"3", "00.5"}, {"3.25", "00.5"}, {"4", "01"}, {"10", "01.000001"}} {
		db.Exec(t, fmt.Sprintf("INSERT INTO moves VALUES (%d, %s, %s)", i+1, move[0], d.value("time", "2026-06-01 08:00:"+move[1])))
	}
	s := db.Open(t, 1)
	after := "(changed_at, id) > (:wm_changed_at, :wm_id)"
	if d.NoRows {
		after = "changed_at > :wm_changed_at OR changed_at = :wm_changed_at AND id > :wm_id"
	}
	for _, c := range []struct {
		sql     string
		initial []any
	}{
		{"SELECT id, qty, changed_at FROM moves WHERE " + after + " ORDER BY changed_at, id", []any{int64(0), 0.0, time.Unix(0, 0)}},
		{"SELECT id, qty, changed_at FROM moves WHERE id > :wm_id ORDER BY id", []any{"0", "0", "1970-01-01 00:00:00"}},
		{"SELECT id, qty, changed_at FROM moves WHERE qty > :wm_qty ORDER BY qty", []any{int64(0), int64(0), time.Unix(0, 0)}},
	} {
		p := Prepare(t, s, c.sql)
		args := map[string]any{"wm_id": c.initial[0], "wm_qty": c.initial[1], "wm_changed_at": c.initial[2]}
		var ids []int64
		for range 10 {
			_, err := p.Scan(t.Context(), scanners.Request{Args: args, MaxRows: 2}, func(r *row.Row) error {
				last := r.Clone()
				ids = append(ids, last.Values[0].Int())
				args = map[string]any{"wm_id": last.Values[0], "wm_qty": last.Values[1], "wm_changed_at": last.Values[2]}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, id := range ids {
			if id != int64(i+1) {
				t.Fatalf("%s: saw %v", c.sql, ids)
			}
		}
		if len(ids) != 7 {
			t.Errorf("%s: saw %v", c.sql, ids)
		}
	}
}

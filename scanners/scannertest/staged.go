package scannertest

import (
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

func mustDecimal(t T, s string) row.Value {
	t.Helper()
	v, err := row.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// stagedKinds stages a table that the database does not have. Values in the kind of their column, as text and as NULL
// must come back unchanged.
func stagedKinds(t T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	at := time.Date(2026, 6, 1, 8, 0, 0, 25e7, time.UTC)
	fixture := scanners.StagedTable{
		Table: "Fixture",
		Columns: []row.Column{
			{Name: "ID", Kind: row.Int},
			{Name: "c_bool", Kind: row.Bool},
			{Name: "c_big", Kind: row.Int},
			{Name: "c_ratio", Kind: row.Float},
			{Name: "c_decimal", Kind: row.Decimal},
			{Name: "c_text", Kind: row.Text},
			{Name: "c_bytes", Kind: row.Bytes},
			{Name: "c_date", Kind: row.Date},
			{Name: "c_time", Kind: row.Time},
			{Name: "c_json", Kind: row.JSON},
			{Name: "c_scalar", Kind: row.JSON},
		},
		Rows: [][]row.Value{
			{
				row.IntOf(1), row.BoolOf(true), row.IntOf(9007199254740993), row.FloatOf(0.25), mustDecimal(t, "-12.5"), row.TextOf("007"),
				row.BytesOf("\x00\xff"), row.DateOf(at), row.TimeOf(at), row.JSONOf(`{"a": [1]}`), row.JSONOf("7"),
			},
			{
				row.IntOf(2), row.TextOf("true"), row.TextOf("9007199254740993"), row.TextOf("0.25"), row.TextOf("-12.50"), row.TextOf("1e3"),
				row.Value{},
				row.TextOf("2026-06-01"), row.TextOf("2026-06-01T08:00:00.25Z"), row.TextOf(`{"a": [1]}`), row.TextOf("7"),
			},
			append([]row.Value{row.IntOf(3)}, make([]row.Value, 10)...),
		},
	}
	x := open(t, sessions(t, d, s), fixture)
	p := Prepare(t, x, "SELECT * FROM fixture ORDER BY id")
	for i, c := range p.Columns() {
		kind := fixture.Columns[i].Kind
		if other, found := d.Kinds[kind.String()]; found {
			kind = other
		}
		if c.Kind != kind || c.Name != strings.ToLower(fixture.Columns[i].Name) || !c.Nullable {
			t.Errorf("column %+v, want a %s", c, kind)
		}
	}
	want := [][]string{
		{"1", "true", "9007199254740993", "0.25", "-12.5", "007", "00ff", "2026-06-01", "2026-06-01T08:00:00.25Z", `{"a": [1]}`, "7"},
		{"2", "true", "9007199254740993", "0.25", "-12.5", "1e3", "", "2026-06-01", "2026-06-01T08:00:00.25Z", `{"a": [1]}`, "7"},
		{"3", "", "", "", "", "", "", "", "", "", ""},
	}
	rows := Rows(t, p, nil)
	if len(rows) != len(want) {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		for j, v := range r.Values {
			got := v.String()
			if v.Kind() == row.Decimal {
				got = strings.TrimRight(got, "0")
			}
			if got != want[i][j] || v.IsNull() != (want[i][j] == "") || !v.IsNull() && v.Kind() != r.Columns[j].Kind {
				t.Errorf("row %d: %s is %s %q, want %q", i+1, r.Columns[j].Name, v.Kind(), got, want[i][j])
			}
		}
	}
	args := map[string]any{"now": at, "x": mustDecimal(t, "-12"), "flag": true, "day": row.DateOf(at)}
	for where, n := range map[string]int{
		"c_decimal < :x": 2, "c_time <= :now": 2, "c_time < :now": 0, "c_bool = :flag": 2, "c_date = :day": 2, "c_text = '007'": 1, "c_big > 9007199254740992": 2,
	} {
		if rows := Rows(t, Prepare(t, x, "SELECT id, c_time FROM fixture WHERE "+where), args); len(rows) != n {
			t.Errorf("%s: %d rows, want %d", where, len(rows), n)
		}
	}
	if _, err := s.Prepare(t.Context(), Parse(t, "SELECT id FROM fixture")); err == nil {
		t.Error("the staged table is there outside of its session")
	}
}

// stagedLike stages a table in the place of a real one. Most cases give values for a few columns only. The keys,
// checks, defaults and generated columns of the real table must not get in the way.
func stagedLike(t T, d Dialect) {
	t.Helper()
	db, s := sample(t, d)
	source := sessions(t, d, s)
	db.Exec(t, d.Stock)
	db.Exec(t, "INSERT INTO stock (wh_id, bin_code, qty) VALUES (1, 'REAL', 5)")
	decimal, text := row.Column{Name: "QTY", Kind: row.Decimal}, row.Column{Name: "bin_code", Kind: row.Text}
	one := row.IntOf(1)
	for _, c := range []struct {
		name   string
		staged scanners.StagedTable
		want   string
	}{
		{"some columns", scanners.StagedTable{Columns: []row.Column{text, decimal}, Rows: [][]row.Value{
			{row.TextOf("A"), row.TextOf("12.5")}, {row.TextOf("A"), row.IntOf(2000)},
		}}, "1 - A 12.5 0 12.5; 2 - A 2000 0 2000"},
		{"all columns", scanners.StagedTable{
			Columns: []row.Column{{Name: "id"}, {Name: "wh_id"}, text, decimal, {Name: "reserved"}, {Name: "free"}},
			Rows:    [][]row.Value{{row.IntOf(7), one, row.TextOf("B"), one, one, row.IntOf(5)}, {row.IntOf(7), one, row.TextOf("B"), one, one, row.Value{}}},
		}, "7 1 B 1 1 -; 7 1 B 1 1 5"},
		{"no columns", scanners.StagedTable{Rows: [][]row.Value{{}, {}}}, "1 - - - 0 -; 2 - - - 0 -"},
		{"no rows", scanners.StagedTable{Columns: []row.Column{text}}, ""},
	} {
		c.staged.Table = "stock"
		x := open(t, source, c.staged)
		p := Prepare(t, x, "SELECT id, wh_id, bin_code, qty, reserved, free FROM stock ORDER BY id, CASE WHEN free IS NULL THEN 0 ELSE 1 END")
		var lines []string
		for _, r := range Rows(t, p, nil) {
			var values []string
			for _, v := range r.Values {
				text := v.String()
				if v.IsNull() {
					text = "-"
				} else if v.Kind() == row.Decimal && strings.Contains(text, ".") {
					text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
				}
				values = append(values, text)
			}
			lines = append(lines, strings.Join(values, " "))
		}
		if got := strings.Join(lines, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if kind := p.Columns()[3].Kind; kind != row.Decimal {
			t.Errorf("%s: qty is %s", c.name, kind)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	db.Exec(t, "INSERT INTO stock (wh_id, bin_code, qty) VALUES (1, 'NEXT', 5)")
	if rows := Rows(t, Prepare(t, s, "SELECT id FROM stock ORDER BY id"), nil); len(rows) != 2 || rows[1].Values[0].Int() != 2 {
		t.Errorf("the real table or its numbers have changed: %d rows, the last %s", len(rows), rows[len(rows)-1].Values[0])
	}
}

// stagedFaults stages tables that cannot be staged. The source must continue.
func stagedFaults(t T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	s := db.Open(t, 1)
	source := sessions(t, d, s)
	db.Exec(t, d.Stock)
	text := func(name string) []row.Column { return []row.Column{{Name: name, Kind: row.Text}} }
	x := [][]row.Value{{row.TextOf("x")}}
	for _, c := range []struct {
		staged []scanners.StagedTable
		says   string
	}{
		{[]scanners.StagedTable{{Table: schema(db, d) + ".stock", Columns: text("bin_code"), Rows: x}}, "leave out its schema"},
		{[]scanners.StagedTable{{Columns: text("bin_code"), Rows: x}}, "has no name"},
		{[]scanners.StagedTable{{Table: "stock", Columns: text("bin_cod"), Rows: x}}, "its columns are id, wh_id, bin_code"},
		{[]scanners.StagedTable{{Table: "stock", Columns: append(text("qty"), text("QTY")...)}}, "names column QTY twice"},
		{[]scanners.StagedTable{{Table: "stock", Columns: text("qty"), Rows: x}}, "row 1"},
		{[]scanners.StagedTable{{Table: "stock", Columns: text("bin_code"), Rows: [][]row.Value{{row.TextOf("x")}, {{}}}}}, "row 2"},
		{[]scanners.StagedTable{{Table: "stock", Columns: text("bin_code"), Rows: [][]row.Value{{}}}}, "row 1 has 0 values for 1 columns"},
		{[]scanners.StagedTable{{Table: "nowhere"}}, "no row names its columns"},
		{[]scanners.StagedTable{{Table: "twice", Columns: text("a")}, {Table: "Twice", Columns: text("a")}}, "table Twice"},
	} {
		_, err := source.Session(t.Context(), c.staged)
		wantError(t, c.says, err, scanners.CodeStage, false)
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v does not say %q", err, c.says)
		}
		healthy(t, s)
	}
}

// bypass tries to read a real table although a table is staged for it.
func bypass(t T, d Dialect) {
	t.Helper()
	db, s := sample(t, d)
	source := sessions(t, d, s)
	db.Exec(t, d.Stock)
	db.Exec(t, "CREATE VIEW stock_view AS SELECT s.*, 'it''s' AS note FROM stock s")
	db.Exec(t, "CREATE VIEW stock_twice AS SELECT * FROM stock_view")
	db.Exec(t, "CREATE VIEW sample_view AS SELECT * FROM sample")
	stock := scanners.StagedTable{Table: "stock", Columns: []row.Column{{Name: "qty", Kind: row.Decimal}}, Rows: [][]row.Value{{row.IntOf(1)}}}
	x := open(t, source, stock)
	for _, sql := range []string{"SELECT qty FROM " + schema(db, d) + ".stock", "SELECT id FROM sample WHERE EXISTS (SELECT 1 FROM " + schema(db, d) + ".stock s)"} {
		p, err := x.Prepare(t.Context(), Parse(t, sql))
		if d.StagedInSchema {
			if err != nil || len(Rows(t, p, nil)) == 0 {
				t.Errorf("%s: %v", sql, err)
			}
			continue
		}
		wantError(t, sql, err, scanners.CodeStage, false)
		if err != nil && !strings.Contains(err.Error(), "write stock without its schema") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for sql, says := range map[string]string{
		"SELECT v.qty FROM stock_view v":                                                                "stage stock_view itself",
		"WITH v AS (SELECT * FROM stock_twice) SELECT qty FROM v":                                       "stage stock_twice itself",
		"SELECT stock.qty FROM stock JOIN " + schema(db, d) + ".stock_view ON stock_view.id = stock.id": "stage ",
	} {
		_, err := x.Prepare(t.Context(), Parse(t, sql))
		wantError(t, sql, err, scanners.CodeStage, false)
		if err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not say %q", sql, err, says)
		}
	}
	for sql, want := range map[string]string{
		"SELECT count(*) AS n FROM stock":                                             "1",
		"SELECT stock.qty + 0 AS n FROM stock":                                        "1",
		"SELECT count(*) AS n FROM sample_view":                                       "3",
		"SELECT count(*) AS n FROM " + schema(db, d) + ".sample":                      "3",
		"SELECT count(sample.id) AS n FROM sample JOIN stock ON stock.id = sample.id": "1",
	} {
		if got := One(t, x, sql, nil); strings.TrimSuffix(strings.TrimRight(got, "0"), ".") != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

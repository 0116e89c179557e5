package scannertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// explain asks for plans. None of the statements runs.
func explain(t T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	s := db.Open(t, 1)
	x, ok := s.(scanners.Explainer)
	if ok == d.NoExplain {
		t.Fatalf("the source explains: %v", ok)
	}
	if !ok {
		t.Skip("the driver cannot explain statements")
	}
	plan := func(sql string, args map[string]any) scanners.Plan {
		t.Helper()
		start := time.Now()
		got, err := x.Explain(t.Context(), Parse(t, sql), args)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if took := time.Since(start); took > prompt {
			t.Errorf("%s: it took %s to plan", sql, took)
		}
		return got
	}
	const sql = "SELECT id, c_text FROM sample WHERE id = :x AND c_time <= :now;"
	one := plan(sql, map[string]any{"x": 1, "now": time.Unix(0, 0)})
	two := plan(sql, map[string]any{"x": 2, "now": time.Now()})
	if one.Cost <= 0 || one.Shape != two.Shape || !strings.Contains(one.Shape, "sample") {
		t.Errorf("%+v and %+v", one, two)
	}
	if endless := plan(d.Endless, nil); endless.Cost < 1000*one.Cost || endless.Shape == one.Shape {
		t.Errorf("a statement of hours: %+v", endless)
	}
	db.Exec(t, "CREATE INDEX sample_by_big ON sample (c_big)")
	for i := range 20 {
		db.Exec(t, fmt.Sprintf("INSERT INTO sample (id, c_big) SELECT id + %d, id + %d FROM sample WHERE id < 4", 10*i+10, 10*i))
	}
	if got := plan("SELECT a.id FROM sample a JOIN sample b ON b.c_big = a.c_big WHERE a.id = :x", map[string]any{"x": 1}); strings.Count(got.Shape, "\n") < 2 {
		t.Errorf("a join is one step: %q", got.Shape)
	}
	_, err := x.Explain(t.Context(), Parse(t, "SELECT nope FROM sample"), nil)
	wantError(t, "a wrong statement", err, scanners.CodeStatement, false)
	_, err = x.Explain(t.Context(), Parse(t, sql), nil)
	wantError(t, "no parameters", err, scanners.CodeParam, false)
}

// names reads the names of tables and columns with a probe, and finds unknown names in error messages.
func names(t T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	namer, ok := s.(scanners.Namer)
	if !ok {
		t.Fatal("the source does not say how to ask for names")
	}
	p := Prepare(t, s, namer.Names())
	var list []string
	for _, r := range Rows(t, p, nil) {
		if r.Values[0].String() == "sample" {
			list = append(list, r.Values[1].String())
		}
	}
	if columns := strings.Join(list, " "); columns != "id c_bool c_small c_big c_ratio c_decimal c_text c_bytes c_date c_time c_zoned c_json" {
		t.Errorf("columns of sample: %s", columns)
	}
	for sql, want := range map[string]string{
		"SELECT id FROM smaple": "table smaple", "SELECT idd FROM sample": "column idd", "SELECT s.idd FROM sample s": "column idd", "SELECT colaesce(id, 0) AS n FROM sample": "function colaesce",
	} {
		_, err := s.Prepare(t.Context(), Parse(t, sql))
		wantError(t, sql, err, scanners.CodeStatement, false)
		e, _ := errors.AsType[*scanners.Error](err)
		kind, name, _ := scanners.UnknownName(e.Err.Error())
		if got := string(kind) + " " + name; got != want {
			t.Errorf("%s: %q of %q, want %q", sql, got, e.Err, want)
		}
	}
}

// inspect reads the catalogue.
func inspect(t T, d Dialect) {
	t.Helper()
	db, s := sample(t, d)
	x, ok := s.(scanners.Inspector)
	if ok == d.NoInspect {
		t.Fatalf("the source's catalogue can be read: %v", ok)
	}
	if !ok {
		t.Skip("the driver reads no catalogue")
	}
	db.Exec(t, d.Stock)
	db.Exec(t, "CREATE VIEW stock_view AS SELECT * FROM stock")
	db.Exec(t, "CREATE TABLE pairs (b integer NOT NULL, a integer NOT NULL, note "+d.Types["text"]+", PRIMARY KEY (b, a))")
	names, err := x.Tables(t.Context())
	// Names with a point belong to other schemas.
	names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, ".") })
	if err != nil || !slices.Equal(names, []string{"pairs", "sample", "stock", "stock_view"}) {
		t.Errorf("tables %q, %v", names, err)
	}
	for name, want := range map[string]string{
		"pairs":                   "b int!, a int!, note text; b,a; []",
		"PAIRS":                   "b int!, a int!, note text; b,a; []",
		"stock":                   "id int!, wh_id int!, bin_code text!, qty decimal!, reserved decimal!, free decimal; id; [[wh_id bin_code]]",
		schema(db, d) + ".sample": "id int!, c_bool bool, c_small int, c_big int, c_ratio float, c_decimal decimal, c_text text, c_bytes bytes, c_date date, c_time time, c_zoned time, c_json json; ; []",
	} {
		table, err := x.Table(t.Context(), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if kind, found := d.Kinds["json"]; found {
			want = strings.Replace(want, "c_json json", "c_json "+kind.String(), 1)
		}
		if got := described(table); got != want || !slices.Contains(names, table.Name) {
			t.Errorf("%s (%s): %s\nwant %s", name, table.Name, got, want)
		}
	}
	view, err := x.Table(t.Context(), "stock_view")
	if err != nil || len(view.Columns) != 6 || view.Columns[3].Kind != row.Decimal || view.PrimaryKey != nil || view.Unique != nil {
		t.Errorf("a view: %+v, %v", view, err)
	}
	for _, name := range []string{"nowhere", "", "a b", "sample; DROP TABLE sample", schema(db, d) + ".nowhere", "nowhere.sample"} {
		_, err := x.Table(t.Context(), name)
		wantError(t, name, err, scanners.CodeTable, false)
	}
	healthy(t, s)
}

func described(table scanners.Table) string {
	var columns []string
	for _, c := range table.Columns {
		text := c.Name + " " + c.Kind.String()
		if !c.Nullable {
			text += "!"
		}
		if c.DBType == "" {
			text += " without a type"
		}
		columns = append(columns, text)
	}
	return fmt.Sprintf("%s; %s; %v", strings.Join(columns, ", "), strings.Join(table.PrimaryKey, ","), table.Unique)
}

package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
)

const goods = `CREATE TABLE goods (id INTEGER PRIMARY KEY, sku VARCHAR(20) NOT NULL, qty DECIMAL(12,3), weight REAL, n INT, due DATE, at DATETIME, ok BOOLEAN, odd GEOMETRY, raw);
	INSERT INTO goods VALUES (1, 'S1', 2.5, 0.5, 3, '2026-06-01', '2026-06-01 08:00:00', 1, 'POINT', 7), (2, 'S2', 1, 1, 4, '2026-06-02', '2026-06-02 08:00:00', 0, NULL, NULL);
	CREATE VIEW stock AS SELECT g.id, g.sku, o.sku AS other FROM goods g LEFT JOIN goods o ON o.id = g.id + 1`

// TestKinds lists expressions with their kinds and the value of the first row.
func TestKinds(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, goods)
	s := f.Open(t, 1)
	for _, c := range []struct {
		expression string
		kind       row.Kind
		want       string
	}{
		{"count(*)", row.Int, "2"},
		{"count(DISTINCT sku) n", row.Int, "2"},
		{"sum(n)", row.Int, "7"},
		{"sum(qty)", row.Decimal, "3.5"},
		{"sum(weight)", row.Float, "1.5"},
		{"max(qty)", row.Decimal, "2.5"},
		{"max(due)", row.Date, "2026-06-02"},
		{"min(at)", row.Time, "2026-06-01T08:00:00Z"},
		{"max(g.sku)", row.Text, "S2"},
		{"avg(n)", row.Float, "3.5"},
		{"n + 1", row.Int, "4"},
		{"-n", row.Int, "-3"},
		{"- -5", row.Int, "5"},
		{"n / 2.0", row.Float, "1.5"},
		{"qty - n", row.Decimal, "-0.5"},
		{"n << 2 | 1", row.Int, "13"},
		{"qty * weight + n", row.Decimal, "4.25"},
		{"(n + 1) * (2)", row.Int, "8"},
		{"raw * 2", row.Decimal, "14"},
		{"sku || '-' || n", row.Text, "S1-3"},
		{"'x'", row.Text, "x"},
		{"1.5", row.Float, "1.5"},
		{"0x1F", row.Int, "31"},
		{"0X1E", row.Int, "30"},
		{"n > 3", row.Bool, "false"},
		{"sku IS DISTINCT FROM 'S1'", row.Bool, "false"},
		{"n = 3 AND qty > 1", row.Bool, "true"},
		{"sku IN ('S1', 'S2')", row.Bool, "true"},
		{"EXISTS (SELECT 1 FROM goods)", row.Bool, "true"},
		{"NOT ok", row.Bool, "false"},
		{"coalesce(n, 0)", row.Int, "3"},
		{"ifnull(qty, n)", row.Decimal, "2.5"},
		{"coalesce(due, at)", row.Null, ""},
		{"CASE WHEN n > 3 THEN 'many' WHEN n > 1 THEN 'some' ELSE NULL END", row.Text, "some"},
		{"CASE n WHEN 3 THEN CASE WHEN ok THEN qty ELSE 0 END ELSE n END x", row.Decimal, "2.5"},
		{"iif(ok, 'yes', 'no')", row.Text, "yes"},
		{"date(at)", row.Date, "2026-06-01"},
		{"datetime(at, '+1 day')", row.Time, "2026-06-02T08:00:00Z"},
		{"unixepoch(at)", row.Int, "1780300800"},
		{"julianday(due) - julianday('2026-05-31')", row.Float, "1"},
		{"round(weight)", row.Float, "1"},
		{"CAST(raw AS INTEGER)", row.Int, "7"},
		{"CAST(sku AS TEXT)", row.Text, "S1"},
		{"CAST(qty AS NUMERIC(12,3)) q", row.Decimal, "2.5"},
		{"CAST((SELECT max(n) FROM goods) AS REAL)", row.Float, "4"},
		{"sku COLLATE NOCASE", row.Text, "S1"},
		{"length(sku)", row.Int, "2"},
		{"row_number() OVER (ORDER BY id)", row.Int, "1"},
		{"lead(n) OVER (ORDER BY id)", row.Int, "4"},
		{"json_object('a', n)", row.JSON, `{"a":3}`},
		{"x.n", row.Null, ""},
		{"raw", row.Null, ""},
		{"odd", row.Null, ""},
		{"NULL", row.Null, ""},
		{":x", row.Null, ""},
		{"(SELECT max(n) FROM goods)", row.Null, ""},
		{"CAST(at AS DATE)", row.Null, ""},
		{"json_object('a', n) ->> 'a'", row.Null, ""},
		{"coalesce(sku, n)", row.Null, ""},
		{"mystery(n)", row.Null, ""},
	} {
		for _, sql := range []string{"SELECT EXPR FROM goods g ORDER BY id", "WITH c AS (SELECT 1 AS one) SELECT EXPR FROM goods g, c WHERE id > 0 ORDER BY id"} {
			name := c.expression
			sql = strings.Replace(sql, "EXPR", c.expression, 1)
			p, err := s.Prepare(t.Context(), scannertest.Parse(t, sql))
			if c.kind == row.Null {
				var e *scanners.Error
				if !errors.As(err, &e) || e.Code != scanners.CodeColumn && e.Code != scanners.CodeStatement {
					t.Errorf("%s: a kind was found, or %v", name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if kind := p.Columns()[0].Kind; kind != c.kind {
				t.Errorf("%s: %s, want %s", name, kind, c.kind)
			}
			if got := scannertest.Rows(t, p, nil)[0].Values[0].String(); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
	}
}

// TestKindsBesideStars tests expressions before and after a *.
func TestKindsBesideStars(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, "CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (1, 'x')")
	s := f.Open(t, 1)
	p := scannertest.Prepare(t, s, "SELECT DISTINCT a + 1 AS before, t.*, b || '!' AS after FROM t")
	var got []string
	for i, v := range scannertest.Rows(t, p, nil)[0].Values {
		got = append(got, p.Columns()[i].Name+"="+v.Kind().String()+":"+v.String())
	}
	if text := strings.Join(got, " "); text != "before=int:2 a=int:1 b=text:x after=text:x!" {
		t.Error(text)
	}
}

func TestNotNull(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, goods)
	s := f.Open(t, 1)
	for sql, nullable := range map[string]bool{
		"SELECT id FROM goods":                                   false,
		"SELECT sku FROM goods":                                  false,
		"SELECT sku AS s FROM goods g WHERE n > 1":               false,
		"SELECT n FROM goods":                                    true,
		"SELECT upper(sku) AS s FROM goods":                      true,
		"SELECT id FROM stock":                                   true, // a view may hide an outer join
		"SELECT sku FROM goods UNION ALL SELECT NULL":            true,
		"SELECT g.sku FROM goods o LEFT JOIN goods g USING (id)": true,
	} {
		if got := scannertest.Prepare(t, s, sql).Columns()[0].Nullable; got != nullable {
			t.Errorf("%s: nullable %v", sql, got)
		}
	}
}

// TestColumnsWithoutAType tests that one error names all columns of unknown kind.
func TestColumnsWithoutAType(t *testing.T) {
	t.Parallel()
	f := &file{path: filepath.Join(t.TempDir(), "kinds.db")}
	f.Exec(t, "CREATE TABLE goods (id INTEGER, bin, n)")
	_, err := f.Open(t, 1).Prepare(t.Context(), scannertest.Parse(t, "SELECT id, bin, NULL AS gone, n FROM goods"))
	for _, name := range []string{"column bin: ", "column gone: ", "column n: "} {
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "column id") {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

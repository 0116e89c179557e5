package condition_test

import (
	"strings"
	"testing"
	"time"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// columns and sample are the row that the tables of these tests judge.
var columns = []row.Column{
	{Name: "qty", Kind: row.Int},
	{Name: "price", Kind: row.Decimal},
	{Name: "big", Kind: row.Decimal},
	{Name: "ratio", Kind: row.Float},
	{Name: "sku", Kind: row.Text},
	{Name: "name", Kind: row.Text},
	{Name: "ok", Kind: row.Bool},
	{Name: "at", Kind: row.Time},
	{Name: "day", Kind: row.Date},
	{Name: "age", Kind: row.Duration},
	{Name: "doc", Kind: row.JSON},
	{Name: "raw", Kind: row.Bytes},
	{Name: "n_int", Kind: row.Int},
	{Name: "n_dec", Kind: row.Decimal},
	{Name: "n_text", Kind: row.Text},
	{Name: "n_bool", Kind: row.Bool},
	{Name: "n_time", Kind: row.Time},
	{Name: "n_doc", Kind: row.JSON},
	{Name: "count", Kind: row.Int},
	{Name: "any_int", Kind: row.Null},
}

var (
	instant = time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	firing  = time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC)
)

func decimal(t testing.TB, s string) row.Value {
	t.Helper()
	v, err := row.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func sample(t testing.TB) *row.Row {
	t.Helper()
	r := row.New(columns)
	set := func(name string, v row.Value) { r.Values[r.Index(name)] = v }
	set("qty", row.IntOf(-3))
	set("price", decimal(t, "19.90"))
	set("big", decimal(t, "123456789012345678901234567890.5"))
	set("ratio", row.FloatOf(0.1))
	set("sku", row.TextOf("TEST-42"))
	set("name", row.TextOf("补货 Bin"))
	set("ok", row.BoolOf(true))
	set("at", row.TimeOf(instant))
	set("day", row.DateOf(instant))
	set("age", row.DurationOf(90*time.Minute))
	set("doc", row.JSONOf(`{"lines":[{"sku":"A","qty":2.50},{"sku":"B","qty":7}],"wave":77,"none":null}`))
	set("raw", row.BytesOf("\x01\xff"))
	set("count", row.IntOf(5))
	set("any_int", row.IntOf(7))
	return r
}

func compile(t testing.TB, src string) *condition.Program {
	t.Helper()
	p, err := condition.Compile(src, columns)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	p.SetNow(firing)
	return p
}

// evaluate returns kind and text of the result, such as "decimal 1.50" or "null".
func evaluate(t testing.TB, src string, r *row.Row) (string, error) {
	t.Helper()
	v, err := compile(t, src).Eval(r)
	if err != nil {
		return "", err
	}
	if v.IsNull() {
		return "null", nil
	}
	return v.Kind().String() + " " + v.String(), nil
}

type example struct{ src, want string }

func check(t *testing.T, examples []example) {
	t.Helper()
	r := sample(t)
	for _, e := range examples {
		t.Run(e.src, func(t *testing.T) {
			got, err := evaluate(t, e.src, r)
			if err != nil {
				t.Fatal(err)
			}
			if got != e.want {
				t.Errorf("got %s, want %s", got, e.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`qty < 0 and not (sku startsWith "TEST-") or qty > max`:        "qty sku max |",
		`let n = now() - at; n.Hours() > 3 and doc.wave.no == count`:   "at doc count | wave no",
		`row_count > 3 and any(rows, .qty < 0) and rows[0].bin == "A"`: "row_count rows | qty bin",
		`nosuch(qty)`: "qty |",
	} {
		columns, members, err := condition.Names(src)
		if got := strings.TrimSpace(strings.Join(columns, " ") + " | " + strings.Join(members, " ")); got != want || err != nil {
			t.Errorf("%s: got %q, want %q, %v", src, got, want, err)
		}
	}
	if _, _, err := condition.Names("qty <"); err == nil {
		t.Error("a broken expression was taken")
	}
}

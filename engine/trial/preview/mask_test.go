package preview

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/rules/row"
)

// every kind that can be masked, with values that come more than once.
var valuesOf = map[row.Kind]*rapid.Generator[row.Value]{
	row.Int:      rapid.Map(rapid.Int64Range(-4, 4), row.IntOf),
	row.Float:    rapid.Map(rapid.IntRange(-6, 6), func(n int) row.Value { return row.FloatOf(float64(n) / 2) }),
	row.Decimal:  rapid.Map(rapid.Int64Range(-40, 40), func(n int64) row.Value { return row.DecimalOf(n, 1) }),
	row.Text:     rapid.Map(rapid.StringMatching(`[a-c]{0,2} ?`), row.TextOf),
	row.Bytes:    rapid.Map(rapid.StringMatching(`[a-c]{0,2}`), row.BytesOf),
	row.JSON:     rapid.Map(rapid.IntRange(0, 5), func(n int) row.Value { return row.JSONOf(strings.Repeat("[", n) + strings.Repeat("]", n)) }),
	row.Time:     rapid.Map(rapid.IntRange(-5, 5), func(n int) row.Value { return row.TimeOf(maskDue.Add(time.Duration(n) * time.Minute)) }),
	row.Date:     rapid.Map(rapid.IntRange(-5, 5), func(n int) row.Value { return row.DateOf(maskDue.AddDate(0, 0, n)) }),
	row.Duration: rapid.Map(rapid.IntRange(-5, 5), func(n int) row.Value { return row.DurationOf(time.Duration(n) * time.Minute) }),
}

var maskDue = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// Equal values have equal masks, and different values different ones. Numbers and times keep their order and their side
// of zero or of the run. NULL stays. No mask is a hidden value.
func TestMasks(t *testing.T) {
	t.Parallel()
	for kind, gen := range valuesOf {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				columns := []row.Column{{Name: "_a", Kind: kind}, {Name: "b", Kind: kind}, {Name: "open", Kind: row.Int}}
				var rows []*row.Row
				for range rapid.IntRange(1, 8).Draw(t, "rows") {
					r := row.New(columns)
					r.Values[0], r.Values[1], r.Values[2] = gen.Draw(t, "a"), gen.Draw(t, "b"), row.IntOf(1)
					if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
						r.Values[1] = row.Value{}
					}
					rows = append(rows, r)
				}
				m, err := newMask([]string{"_A", " b"}, columns, rows, maskDue)
				if err != nil {
					t.Fatal(err)
				}
				checkMasks(t, m, kind, rows)
			})
		})
	}
}

func checkMasks(t *rapid.T, m *columnMask, kind row.Kind, rows []*row.Row) {
	var before, after []row.Value
	for _, r := range rows {
		masked := m.row(r)
		if !row.Equal(masked.Values[2], r.Values[2]) {
			t.Fatal("a column that was not named has changed")
		}
		if r.Values[1].IsNull() != masked.Values[1].IsNull() {
			t.Fatal("NULL")
		}
		for i := range 2 {
			if !r.Values[i].IsNull() {
				before, after = append(before, r.Values[i]), append(after, masked.Values[i])
			}
		}
	}
	zero := map[row.Kind]row.Value{
		row.Int: row.IntOf(0), row.Float: row.IntOf(0), row.Decimal: row.IntOf(0), row.Duration: row.DurationOf(0),
		row.Time: row.TimeOf(maskDue), row.Date: row.DateOf(maskDue),
	}[kind]
	order := func(a, b row.Value) int {
		c, err := row.Compare(a, b)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for i := range before {
		if after[i].Kind() != kind {
			t.Fatalf("%s became a %s", kind, after[i].Kind())
		}
		if !zero.IsNull() && order(before[i], zero) != order(after[i], zero) {
			t.Fatalf("%s became %s, which lies elsewhere", before[i], after[i])
		}
		for k := range before {
			if same := identity(before[i]) == identity(before[k]); same != (identity(after[i]) == identity(after[k])) {
				t.Fatalf("%q and %q became %q and %q", before[i], before[k], after[i], after[k])
			}
			if !zero.IsNull() && order(before[i], before[k]) != order(after[i], after[k]) {
				t.Fatalf("%s and %s became %s and %s", before[i], before[k], after[i], after[k])
			}
			if identity(after[i]) == identity(before[k]) && !row.Equal(before[k], zero) {
				t.Fatalf("%s is the mask of %s", before[k], before[i])
			}
		}
	}
}

func TestMasksThatAreRefused(t *testing.T) {
	t.Parallel()
	columns := []row.Column{{Name: "sku", Kind: row.Text}, {Name: "note", Kind: row.Text}, {Name: "hot", Kind: row.Bool}, {Name: "wh", Kind: row.Int}, {Name: "from_wh", Kind: row.Int}}
	r := row.New(columns)
	copy(r.Values, []row.Value{row.TextOf("S001"), row.TextOf("count S001 again"), row.BoolOf(true), row.IntOf(119240), row.IntOf(119240)})
	rows := []*row.Row{r}
	for names, want := range map[string]string{
		"skuu": `no column "skuu"`, "hot": `"hot" is true or false`,
		"sku": "sku also stands in the column note", "wh": "wh also stands in the column from_wh", "sku,note": "", "wh,from_wh": "",
	} {
		m, err := newMask(strings.Split(names, ","), columns, rows, maskDue)
		if err == nil {
			err = m.leaks(rows)
		}
		if got := ""; want != "" {
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", names, got, want)
			}
		} else if err != nil {
			t.Errorf("%s: %v", names, err)
		}
	}
}

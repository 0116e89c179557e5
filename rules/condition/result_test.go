package condition_test

import (
	"fmt"
	"strings"
	"testing"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

var resultColumns = []row.Column{
	{Name: "sku", Kind: row.Text},
	{Name: "qty", Kind: row.Decimal},
	{Name: "n", Kind: row.Int},
	{Name: "held", Kind: row.Bool},
	{Name: "doc", Kind: row.JSON},
	{Name: "rows", Kind: row.Int},
	{Name: "count", Kind: row.Int},
}

// resultOf makes rows of "sku qty n held"; - is NULL.
func resultOf(t testing.TB, lines ...string) []*row.Row {
	t.Helper()
	var all []*row.Row
	for _, line := range lines {
		r := row.New(resultColumns)
		for i, word := range strings.Fields(line) {
			switch {
			case word == "-":
			case i == 0:
				r.Values[i] = row.TextOf(word)
			case i == 1:
				r.Values[i] = decimal(t, word)
			case i == 2:
				r.Values[i] = row.IntOf(int64(len(word)))
			case i == 3:
				r.Values[i] = row.BoolOf(word == "true")
			}
		}
		r.Values[4] = row.JSONOf(`{"tags":["a","b"]}`)
		r.Values[5] = row.IntOf(7)
		all = append(all, r)
	}
	return all
}

func evaluateResult(t testing.TB, src string, rows []*row.Row) (string, error) {
	t.Helper()
	p, err := condition.CompileResult(src, resultColumns)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	p.SetNow(firing)
	v, err := p.EvalResult(rows)
	switch {
	case err != nil:
		return "", err
	case v.IsNull():
		return "null", nil
	}
	return v.Kind().String() + " " + v.String(), nil
}

func TestResult(t *testing.T) {
	rows := resultOf(t, "A -0.10 x true", "B 0.20 xx false", "A 0.30 xxx true", "C - - -")
	for _, e := range []example{
		{`row_count`, "int 4"},
		{`len(rows)`, "int 4"},
		{`count(rows)`, "int 4"},
		{`rows[0].qty`, "decimal -0.10"},
		{`rows[0]["qty"]`, "decimal -0.10"},
		{`rows[-1].sku`, "text C"},
		{`rows[-1].qty`, "null"},
		{`rows[4].qty`, "null"},
		{`rows[row_count - 1]?.sku`, "text C"},
		{`first(rows).sku + last(rows).sku`, "text AC"},
		{`rows[1:3][0].sku`, "text B"},
		{`len(take(rows, 2))`, "int 2"},
		{`rows[0].rows`, "int 7"},

		{`any(rows, .qty < 0)`, "bool true"},
		{`any(rows, #.qty < 0)`, "bool true"},
		{`any(rows, .qty > 1)`, "null"},
		{`any(rows, (.qty ?? 0) > 1)`, "bool false"},
		{`any(rows[0:3], .qty > 1)`, "bool false"},
		{`all(rows, .qty > -1)`, "null"},
		{`all(rows, .qty > 0)`, "bool false"},
		{`all(rows[:3], .qty > -1)`, "bool true"},
		{`none(rows, .qty > 1)`, "null"},
		{`none(rows, .qty < 0)`, "bool false"},
		{`none(rows[:3], .qty > 1)`, "bool true"},
		{`one(rows, .qty < 0)`, "null"},
		{`one(rows[:3], .qty < 0)`, "bool true"},
		{`one(rows, .sku == "A")`, "bool false"},
		{`one(rows, .sku == "Z")`, "bool false"},
		{`any([], # > 1) or all([], # > 1)`, "bool true"},

		{`count(rows, .qty > 0)`, "int 2"},
		{`count(rows, not .held)`, "int 1"},
		{`len(filter(rows, .sku == "A"))`, "int 2"},
		{`filter(rows, .sku == "A")[1].qty`, "decimal 0.30"},
		{`rows | filter(.sku == "A") | len()`, "int 2"},
		{`find(rows, .sku == "A").qty`, "decimal -0.10"},
		{`findLast(rows, .sku == "A").qty`, "decimal 0.30"},
		{`find(rows, .sku == "Z").qty`, "null"},
		{`find(rows, .sku == "Z") == nil`, "bool true"},
		{`find(rows, .sku == "A") != nil`, "bool true"},

		{`map(rows, .sku)[1]`, "text B"},
		{`"C" in map(rows, .sku)`, "bool true"},
		{`join(map(rows, .sku), "+")`, "text A+B+A+C"},
		{`join(sort(uniq(map(rows, .sku)), "desc"))`, "text CBA"},
		{`len(uniq(map(rows, .sku)))`, "int 3"},
		{`sum(map(rows[:3], .qty)) == 0.4`, "bool true"},
		{`sum(rows[:3], .qty)`, "decimal 0.40"},
		{`sum(rows[:2], .qty) == 0.1`, "bool true"},
		{`sum(rows, .qty)`, "null"},
		{`sum(rows, .qty ?? 0)`, "decimal 0.40"},
		{`sum(rows, .n ?? 0)`, "int 6"},
		{`sum(filter(map(rows, .qty), # > 0))`, "decimal 0.50"},
		{`min(map(rows[:3], .qty))`, "decimal -0.10"},
		{`max(map(rows, .qty ?? 0.05))`, "decimal 0.30"},
		{`mean(map(rows[:3], .qty)) < 0.1334 and mean(map(rows[:3], .qty)) > 0.1333`, "bool true"},
		{`mean(map(rows[:2], .n))`, "float 1.5"},
		{`median(map(rows[:2], .qty))`, "decimal 0.05"},
		{`median(map(rows[:3], .n))`, "float 2"},
		{`mean(map(filter(rows, .sku == "Z"), .qty))`, "null"},
		{`sort(map(rows[:3], .qty))[0]`, "decimal -0.10"},
		{`reverse(map(rows, .sku))[0]`, "text C"},

		{`let bad = filter(rows, .qty > 0); len(bad) * 100 / row_count`, "float 50"},
		{`let worst = find(rows, .qty < 0); worst.sku`, "text A"},
		{`any(rows, let s = .sku; count(rows, .sku == s) > 1)`, "bool true"},
		{`len(filter(rows, {let s = .sku; count(rows, .sku == s) == 1}))`, "int 2"},
		{`any(rows, any(.doc.tags, # == "b"))`, "bool true"},
		{`any(rows, .doc.tags[0] == "b")`, "bool false"},
		{`count(rows, .qty in [0.2, 0.3])`, "int 2"},
		{`row_count > 3 and rows[0].sku matches "^A$"`, "bool true"},
		{`any(rows, now() == now())`, "bool true"},
		{`any(rows, 1 < .n < 3)`, "bool true"},
		{`map(rows, # == nil)[0]`, "bool false"},
	} {
		t.Run(e.src, func(t *testing.T) {
			got, err := evaluateResult(t, e.src, rows)
			if err != nil || got != e.want {
				t.Errorf("got %s, %v, want %s", got, err, e.want)
			}
		})
	}
}

func TestResultWithoutRows(t *testing.T) {
	for _, e := range []example{
		{`row_count == 0`, "bool true"},
		{`any(rows, .qty < 0)`, "bool false"},
		{`all(rows, .qty < 0)`, "bool true"},
		{`none(rows, .qty < 0)`, "bool true"},
		{`one(rows, .qty < 0)`, "bool false"},
		{`sum(rows, .qty)`, "null"},
		{`sum(rows, .qty) ?? 0`, "decimal 0"},
		{`rows[0].qty`, "null"},
		{`first(rows).sku`, "null"},
		{`len(rows[1:])`, "int 0"},
		{`max(map(rows, .qty)) == nil`, "bool true"},
	} {
		if got, err := evaluateResult(t, e.src, nil); err != nil || got != e.want {
			t.Errorf("%s: got %s, %v, want %s", e.src, got, err, e.want)
		}
	}
}

func TestResultFaults(t *testing.T) {
	for src, want := range map[string]string{
		`qty < 0`:                       `0 expr_unknown_name per: result judges all the rows at once, so qty alone has no value | write rows[0].qty for the first row, or any(rows, .qty …) for all of them`,
		`any(rows, qty < 0)`:            `10 expr_unknown_name per: result judges all the rows at once, so qty alone has no value | inside a predicate write .qty`,
		`any(rows, .qtty < 0)`:          `11 expr_unknown_name there is no column qtty | did you mean "qty"?`,
		`rows[0].qtty < 0`:              `8 expr_unknown_name there is no column qtty | did you mean "qty"?`,
		`row_cuont > 0`:                 `0 expr_unknown_name there is no variable row_cuont | did you mean "row_count"?`,
		`rows.qty < 0`:                  `5 expr_type a list of rows has no such members | write rows[0].qty for the first row, or map(rows, .qty) for the values of all`,
		`rows`:                          `0 expr_type an expression cannot give a list of rows | take an element, its len(), or use in`,
		`rows[0]`:                       `4 expr_type an expression cannot give a row | take one of its columns, as in rows[0].count`,
		`map(rows, .qty)`:               `0 expr_type an expression cannot give a list | take an element, its len(), or use in`,
		`map(rows, #)[0].qty`:           `10 expr_type map() makes a list of values, here it has a row | take a column, as in map(rows, .count)`,
		`sum(rows) > 0`:                 `4 expr_type sum() needs numbers, here it has a list of rows | take the values of a column: map(rows, .count)`,
		`max(rows) > 0`:                 `4 expr_type max() needs values, here it has a list of rows | take the values of a column: map(rows, .count)`,
		`max(rows[0], 1) > 0`:           `8 expr_type max() needs values, here it has a row | take one of its columns, as in rows[0].count`,
		`sum(rows, .sku) == ""`:         `11 expr_type sum() needs numbers, here it has text | `,
		`sum(rows, #) > 0`:              `10 expr_type sum() needs numbers, here it has a row | take one of its columns, as in rows[0].count`,
		`sort(rows)[0].qty`:             `5 expr_type sort() needs a list of values, here it has a list of rows | take the values of a column: map(rows, .count)`,
		`rows[0] == rows[1]`:            `8 expr_type a row and a row do not compare | `,
		`rows == nil`:                   `5 expr_type a list is never NULL | `,
		`rows[0] in rows`:               `11 expr_type in needs a list, here it has a list of rows | write x in [a, b]; for a part of a text: contains`,
		`rows[0] in [1]`:                `8 expr_type a row cannot be in a list of int | `,
		`[rows[0]][0]`:                  `5 expr_unsupported a row cannot stand here | `,
		`rows[0] ?? rows[1]`:            `4 expr_unsupported a row cannot stand here | `,
		`rows[0] + 1 > 0`:               `8 expr_type + cannot take a row and int | `,
		`not rows[0]`:                   `0 expr_type not needs a bool, here it has a row | the operator not is applied before a comparison: write not (a == b)`,
		`string(rows[0]) == ""`:         `11 expr_type string() needs a single value, here it has a row | take one of its columns, as in rows[0].count`,
		`len(rows[0]) > 0`:              `8 expr_type len() needs a text or a list, here it has a row | take one of its columns, as in rows[0].count`,
		`rows["qty"] > 0`:               `4 expr_type a list of rows has no such members | write rows[0].qty for the first row, or map(rows, .qty) for the values of all`,
		`rows[0][1] > 0`:                `7 expr_type a row has columns, not elements | write rows[0].count`,
		`any(rows, .sku)`:               `11 expr_type any() needs a predicate that gives a bool, here it has text | compare it, as in .qty < 0`,
		`let rows = 1; rows > 0`:        `4 expr_type rows is taken already | choose another name for the variable`,
		`count(rows, .qty < "x") > 0`:   `17 expr_type decimal and text do not compare | write the number without quotes`,
		`sortBy(rows, .qty)[0].qty > 0`: `0 expr_unsupported sortBy() has no use in a condition | do it in SQL`,
		`ceil(rows[0].qty) > 0`:         `13 expr_decimal ceil() is not exact for decimals | decimals have + - * / %, comparisons, in, ??, abs, min, max, sum and round`,
		`sort(map(rows, .n), "up")[0]`:  `20 expr_type the second argument of sort() must be "asc" or "desc" | `,
	} {
		t.Run(src, func(t *testing.T) {
			_, err := condition.CompileResult(src, resultColumns)
			all := condition.Errors(err)
			if len(all) == 0 {
				t.Fatalf("compiled; %v", err)
			}
			if got := fmt.Sprintf("%d %s %s | %s", all[0].Offset, all[0].Code, all[0].Message, all[0].Hint); got != want || len(all) != 1 {
				t.Errorf("got  %s (%d faults)\nwant %s", got, len(all), want)
			}
		})
	}
}

// What is wrong with names is told without the columns, too: those of the table above, but for what depends on a kind.
func TestParseResult(t *testing.T) {
	for src, want := range map[string]string{
		`qty < 0 or qty > 5`:                     "0 qty",
		`any(rows, qty < 0) and row_cuont > 3`:   "10 qty, 23 row_cuont",
		`row_count > 3 and rows[0].qty < 0`:      "",
		`let w = rows[0].qty; w < 0`:             "",
		`any(rows, let s = .sku; s == "A")`:      "",
		`nosuch(rows) > 3`:                       "", // needs the columns, one of which may have the name
		`now() > rows[0].at and len(rows) > max`: "",
	} {
		var got []string
		for _, e := range condition.Errors(condition.ParseResult(src)) {
			name := strings.TrimPrefix(e.Message, "there is no variable ")
			if _, rest, ok := strings.Cut(e.Message, "so "); ok {
				name, _, _ = strings.Cut(rest, " ")
			}
			got = append(got, fmt.Sprintf("%d %s", e.Offset, name))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", src, s, want)
		}
	}
	if err := condition.ParseResult("rows >"); err == nil {
		t.Error("a broken expression was taken")
	}
}

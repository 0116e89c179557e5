package condition_test

import (
	"errors"
	"strings"
	"testing"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

type fault struct {
	src     string
	offset  int
	code    condition.Code
	message string // a part of it
	hint    string // a part of it
}

func TestFaults(t *testing.T) {
	faults := []fault{
		{``, 0, condition.CodeSyntax, "empty", ""},
		{`qty <`, 5, condition.CodeSyntax, "ends too early", ""},
		{`qty = 0`, 4, condition.CodeSyntax, `unexpected "="`, "=="},
		{`qty <> 0`, 4, condition.CodeSyntax, "unexpected <>", "write != for not equal"},
		{`qty in (1, 2)`, 7, condition.CodeSyntax, "round brackets", "write [1, 2]"},
		{`sku not in("a（", 'b')`, 10, condition.CodeSyntax, "round brackets", `write ["a（", 'b']`},
		{`{{ qty }} < 0`, 0, condition.CodeSyntax, "titles and bodies", "qty < 0"},
		{`ok == 0`, 3, condition.CodeType, "bool and int do not compare", "write `ok` or `not ok`"},
		{`"Y" != ok`, 4, condition.CodeType, "text and bool do not compare", "write `ok` or `not ok`"},
		{`at < now`, 5, condition.CodeUnknownName, "now is a function", "call it: now()"},
		{`qty == true`, 4, condition.CodeType, "int and bool do not compare", "write != 0"},
		{`false != price`, 6, condition.CodeType, "bool and decimal do not compare", "write != 0"},
		{`qty == false`, 4, condition.CodeType, "int and bool", "write == 0"},
		{`sku == “A1"`, 7, condition.CodeFullWidth, "“ is a full-width character", `write "`},
		{`"“" == sku // “
 and qty ＜ 0`, 25, condition.CodeFullWidth, "＜ is", "write <"},
		{`sku in ["（"，"b"]`, 11, condition.CodeFullWidth, "， is", "write ,"},
		{`（qty < 0)`, 0, condition.CodeFullWidth, "（ is", "write ("},
		{`ok ? 1 ： 2`, 7, condition.CodeFullWidth, "： is", "write :"},
		{`qty ≠ 0`, 4, condition.CodeFullWidth, "≠ is", "write !="},
		{`qty < １`, 6, condition.CodeFullWidth, "１ is", "write 1"},
		{`qty <　1`, 5, condition.CodeFullWidth, "a full-width space", "normal space"},
		{`qty < 0 AND ok`, 8, condition.CodeSyntax, `unexpected "AND"`, "lower case: and"},
		{`qty is nil`, 4, condition.CodeSyntax, `unexpected "is"`, "x == nil"},
		{`sku like "a"`, 4, condition.CodeSyntax, `unexpected "like"`, "startsWith"},
		{`qty < 99999999999999999999`, 6, condition.CodeSyntax, "beyond the range", "decimal"},
		{`"补货" + qtty`, 7, condition.CodeUnknownName, "no column qtty", `did you mean "qty"?`},
		{`Qty < 0`, 0, condition.CodeUnknownName, "no column Qty", `did you mean "qty"?`},
		{`zzzzzzz < 0`, 0, condition.CodeUnknownName, "no column zzzzzzz", "columns: age, any_int, at"},
		{`uper(sku)`, 0, condition.CodeUnknownName, "no function uper", `did you mean "upper"?`},
		{`abs`, 0, condition.CodeUnknownName, "abs is a function", "abs(…)"},
		{`count(sku)`, 0, condition.CodeType, "hides the function", "::count(…)"},
		{`qty(1)`, 0, condition.CodeType, "not a function", ""},
		{`sku < 5`, 4, condition.CodeType, "text and int do not compare", "write float(…)"},
		{`100.5 >= sku`, 6, condition.CodeType, "float and text do not compare", "write float(…)"},
		{`sku == 5`, 4, condition.CodeType, "text and int do not compare", "write the text in quotes"},
		{`qty == "5"`, 4, condition.CodeType, "int and text", "without quotes"},
		{`at > "2026-06-01"`, 3, condition.CodeType, "time and text", "date("},
		{`age > 5`, 4, condition.CodeType, "duration and int", "duration("},
		{`not qty == 1`, 0, condition.CodeType, "not needs a bool", "is applied before"},
		{`not sku startsWith "T"`, 0, condition.CodeType, "not needs a bool", "is applied before"},
		{`qty and ok`, 0, condition.CodeType, "and needs bools", ""},
		{`qty ? 1 : 2`, 0, condition.CodeType, "needs a bool", ""},
		{`qty < nil`, 4, condition.CodeType, "never true", "== nil"},
		{`qty ?? "none"`, 4, condition.CodeType, "int and text", ""},
		{`ok ? 1 : "a"`, 0, condition.CodeType, "int and text", ""},
		{`sku + 1`, 4, condition.CodeType, "text and int", "string(…)"},
		{`qty in [1, "a"]`, 7, condition.CodeType, "int and text", ""},
		{`qty in sku`, 7, condition.CodeType, "in needs a list", "contains"},
		{`sku in [1, 2]`, 4, condition.CodeType, "list of int", ""},
		{`price in [1, [2]]`, 13, condition.CodeUnsupported, "list cannot hold", ""},
		{`ratio % 2`, 6, condition.CodeType, "ints and decimals", ""},
		{`1 / 0`, 2, condition.CodeType, "division by zero", ""},
		{`9223372036854775807 + 1`, 20, condition.CodeType, "beyond the range", ""},
		{`sku matches "("`, 12, condition.CodeType, "does not compile", ""},
		{`sku matches name`, 12, condition.CodeUnsupported, "must be a constant", ""},
		{`date("soon")`, 0, condition.CodeType, "no date", ""},
		{`date("2026-06-01", "2006-01-02", "Mars/City")`, 33, condition.CodeType, "no timezone", "IANA"},
		{`duration("5 minutes")`, 0, condition.CodeType, "no duration", ""},
		{`ceil(price)`, 5, condition.CodeDecimal, "ceil() is not exact", "round"},
		{`float(price)`, 6, condition.CodeDecimal, "float()", ""},
		{`price ** 2`, 6, condition.CodeDecimal, "not exact", "multiply"},
		{`sum(qty)`, 4, condition.CodeType, "sum() needs", ""},
		{`len(qty)`, 4, condition.CodeType, "len() needs", ""},
		{`upper(qty)`, 6, condition.CodeType, "needs a text", ""},
		{`trim()`, 0, condition.CodeType, "1 to 2 arguments", ""},
		{`filter([1], # > 0)`, 0, condition.CodeType, "cannot give a list", "len()"},
		{`any([1], {# + 1})`, 12, condition.CodeType, "any() needs a predicate that gives a bool, here it has int", "compare"},
		{`any(qty, # > 1)`, 4, condition.CodeType, "any() needs a list, here it has int", ""},
		{`map([1], [#])[0]`, 9, condition.CodeType, "map() makes a list of values, here it has a list", ""},
		{`::count([1])`, 2, condition.CodeType, "count() needs a predicate", "len()"},
		{`sortBy([1], #)`, 0, condition.CodeUnsupported, "sortBy()", "SQL"},
		{`reduce([1], #acc + #)`, 0, condition.CodeUnsupported, "reduce()", "SQL"},
		{`any([1], #index > 0)`, 9, condition.CodeUnsupported, "#index", ""},
		{`avg(qty) > 3`, 0, condition.CodeUnknownName, "there is no function avg", "mean("},
		{`COALESCE(qty, 0) > 3`, 0, condition.CodeUnknownName, "there is no function COALESCE", "a ?? b"},
		{`avg(doc, .qty) > 3`, 9, condition.CodeSyntax, `unexpected "."`, "mean(map(rows, .qty))"},
		{`lookup(doc, .qty) > 3`, 12, condition.CodeSyntax, `unexpected "."`, "any(rows, .qty < 0)"},
		{`cast(qty as text) == "1"`, 9, condition.CodeSyntax, `unexpected`, "string(a)"},
		{`rows[0].qty`, 0, condition.CodeUnknownName, "there is no column rows", "per: result"},
		{`keys(doc)`, 0, condition.CodeUnsupported, "keys()", "member"},
		{`{"a": 1}`, 0, condition.CodeUnsupported, "maps", ""},
		{`1..5`, 1, condition.CodeUnsupported, "range", "in 1..10"},
		{`$env.qty`, 0, condition.CodeUnsupported, "$env", ""},
		{`[1, 2]`, 0, condition.CodeType, "cannot give a list", "len()"},
		{`split(sku, "-")`, 0, condition.CodeType, "cannot give a list", ""},
		{`sku.Length()`, 4, condition.CodeUnsupported, "no methods", ""},
		{`at.Hours()`, 3, condition.CodeUnsupported, "no method Hours()", `did you mean "Hour"?`},
		{`sku[0]`, 3, condition.CodeType, "no elements", "x[0:1]"},
		{`let qty = 1; qty`, 4, condition.CodeType, "taken already", ""},
		{`1; 2`, 0, condition.CodeUnsupported, "no use", ""},
	}
	for _, want := range faults {
		t.Run(want.src, func(t *testing.T) {
			p, err := condition.Compile(want.src, columns)
			if err == nil {
				t.Fatalf("compiled to %s", p.Kind())
			}
			all := condition.Errors(err)
			if len(all) != 1 {
				t.Fatalf("%d faults: %v", len(all), err)
			}
			got := all[0]
			if got.Offset != want.offset || got.Code != want.code {
				t.Errorf("got %d %s (%s), want %d %s", got.Offset, got.Code, got.Message, want.offset, want.code)
			}
			if !strings.Contains(got.Message, want.message) || !strings.Contains(got.Hint, want.hint) || want.hint == "" && strings.Contains(got.Hint, "did you mean") {
				t.Errorf("got %q with hint %q, want %q with hint %q", got.Message, got.Hint, want.message, want.hint)
			}
		})
	}
}

func TestEveryFaultIsReported(t *testing.T) {
	_, err := condition.Compile(`qtty < 0 and sku > 5 or ceil(price) == zzz`, columns)
	var codes []string
	for _, e := range condition.Errors(err) {
		codes = append(codes, string(e.Code))
	}
	want := "expr_unknown_name expr_type expr_decimal expr_unknown_name"
	if got := strings.Join(codes, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRowsThatCannotBeJudged(t *testing.T) {
	r := sample(t)
	r.Values[r.Index("count")] = row.IntOf(1<<63 - 1)
	for src, message := range map[string]string{
		`count + 1 > 0`:                 "beyond the range of an int",
		`count * 2 > 0`:                 "beyond the range of an int",
		`-(-count - 1) > 0`:             "beyond the range of an int",
		`abs(-count - 1) > 0`:           "beyond the range of an int",
		`qty / (qty + 3) > 0`:           "division by zero",
		`price / (price - price) > 0`:   "division by zero",
		`price % (qty + 3) > 0`:         "division by zero",
		`ratio / (ratio - ratio) > 0`:   "division by zero",
		`int(sku) > 0`:                  `"TEST-42" is no int`,
		`date(sku) < now()`:             "no date",
		`doc.lines > 5`:                 "do not compare",
		`len(repeat(sku, 1000000)) > 0`: "more than 4 MB",
		`len(replace(sku + repeat("a", 9999), "", repeat("b", 999))) > 0`: "more than 4 MB",
		`fromJSON(sku).x == 1`:          "not JSON",
		`(qty / (qty + 3) > 0) or true`: "division by zero",
		`(qty / (qty + 3) ?? 1) > 0`:    "division by zero",
	} {
		t.Run(src, func(t *testing.T) {
			ok, err := compile(t, src).Match(r)
			var e *condition.Error
			if !errors.As(err, &e) || e.Code != condition.CodeValue || !strings.Contains(e.Message, message) {
				t.Errorf("got %v, %v; want %s", ok, err, message)
			}
		})
	}
}

// TestFailedComparisonsSayWhere has values that do not compare, in each form of a comparison. The place of the failure is
// that of the operator, which # stands before.
func TestFailedComparisonsSayWhere(t *testing.T) {
	r := sample(t)
	r.Values[r.Index("n_int")], r.Values[r.Index("n_dec")] = row.TextOf("x"), row.TextOf("x") // as SQLite may return them
	r.Values[r.Index("n_text")] = row.IntOf(1)
	for _, src := range []string{
		"doc.lines #> 5", "5 #<= doc.lines", "doc.lines #== doc.wave", "n_int #> 5", "5 #> n_int", "n_dec #< 1.5", `n_text #== "a"`, "n_int #!= qty",
		"doc.lines #in [5, qty]", "5 #in doc.lines", "n_int #in [1, 2]", "doc.lines #in 1..3", "doc.lines not #in [5, 6]",
	} {
		src = "qty < 0 and " + src
		at := strings.Index(src, "#")
		_, err := compile(t, strings.Replace(src, "#", "", 1)).Match(r)
		var e *condition.Error
		if !errors.As(err, &e) || e.Code != condition.CodeValue || e.Offset != at {
			t.Errorf("%s: got %#v, want the offset %d", src, err, at)
		}
	}
}

func TestMatchNeedsABool(t *testing.T) {
	if _, err := compile(t, `qty + 1`).Match(sample(t)); err == nil {
		t.Error("an int matched")
	}
	if ok, err := compile(t, `nil`).Match(sample(t)); ok || err != nil {
		t.Errorf("NULL: %v, %v", ok, err)
	}
}

func TestNowMustBeSet(t *testing.T) {
	p, err := condition.Compile(`at < now()`, columns)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Match(sample(t)); err == nil {
		t.Error("now() gave a time of its own")
	}
	p.SetNow(firing)
	if ok, err := p.Clone().Match(sample(t)); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

func TestColumnsThatAreRead(t *testing.T) {
	got := compile(t, `sku != "" and qty < 0 and qty > -5`).Columns()
	if len(got) != 2 || columns[got[0]].Name != "qty" || columns[got[1]].Name != "sku" {
		t.Errorf("got %v", got)
	}
}

func TestColumnProblem(t *testing.T) {
	for _, name := range []string{"qty", "wh_id", "数量", "count", "date", "_x", "is", "startswith"} {
		if err := condition.ColumnProblem(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "?column?", "1st", "a b", "count(*)", "not", "in", "nil", "true", "let", "if"} {
		if condition.ColumnProblem(name) == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}

func TestParse(t *testing.T) {
	if err := condition.Parse(`anything < 0 and count > 3`); err != nil {
		t.Error(err)
	}
	var e *condition.Error
	if err := condition.Parse("qty <\n  = 3"); !errors.As(err, &e) || e.Offset != 8 {
		t.Errorf("got %v at %d", err, e.Offset)
	}
	if err := condition.Parse(strings.Repeat("(", 20000)); err == nil {
		t.Error("an endless expression parsed")
	}
}

package condition_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// busy is how long a busy machine may take for work that takes less than a second on a free machine.
const busy = time.Minute

// Expressions that would take minutes or all memory without the bounds end soon, with an error or without: in a second,
// or in some seconds on a busy machine.
func TestHostileExpressionsEndSoon(t *testing.T) {
	chain := func(first, next, test string, n int) string {
		var b strings.Builder
		b.WriteString("let v0 = " + first + "; ")
		for i := 1; i <= n; i++ {
			name, before := "v"+strings.Repeat("x", i), "v"+strings.Repeat("x", i-1)
			if i == 1 {
				before = "v0"
			}
			b.WriteString("let " + name + " = " + strings.ReplaceAll(next, "$", before) + "; ")
		}
		return b.String() + strings.ReplaceAll(test, "$", "v"+strings.Repeat("x", n))
	}
	nested := func(before, middle, after string, n int) string {
		return strings.Repeat(before, n) + middle + strings.Repeat(after, n)
	}
	for name, src := range map[string]string{
		"a shared middle at every level": nested("1 < (ok ? 1 < (", "qty", " + 1) < 3 ? 1 : 2 : 3) < 9", 60),
		"overloads at every level":       "len(" + nested("sort(", `split(sku, "")`, ")", 500) + "[0]) > 0",
		"texts that double":              chain("sku + sku", "$ + $", "$ == nil", 60),
		"digits that double":             chain("price * price", "$ * $", "$ == nil", 60),
		"small numbers that double":      chain("qty * 1.5", "$ * $", "$ == nil", 60),
		"texts that repeat":              chain("sku", `repeat($, 1000)`, "$ == nil", 20),
		"parts of parts":                 chain(`replace(repeat(sku, 9), "", sku)`, `replace($, "", $)`, "$ == nil", 20),
		"lists of everything":            chain(`split(repeat(sku, 999), "")`, `reverse(sort(uniq($)))`, "$[0] == nil", 20),
		"a long text read often":         `let x = repeat("a", 4000000); ` + nested("", "", `x matches "(a*)*b" or `, 500) + "false",
		"brackets":                       nested("(", "qty", ")", 8000),
		"signs":                          nested("-", "qty", "", 16000),
		"negations":                      nested("not ", "ok", "", 4000),
		"terms":                          nested("qty + ", "1", "", 2400) + " > 0",
		"a large list":                   "qty in [" + strings.Repeat("1,", 4000) + "2]",
		"a large range":                  "qty in -9223372036854775807..9223372036854775807",
		"a slow pattern":                 `repeat(sku, 500) matches "` + nested("", "(T?){1000}", "", 1) + `b" or ` + nested("", "", `sku matches "(T|E){900}" or `, 500) + "false",
		"a large pattern":                `sku matches "` + nested("", "", "(T?){999}", 100) + `"`,
		"many large patterns":            nested("", "", `sku matches "(T?){900}(E?){900}" or `, 400) + "false",
		"constants that cost":            `let x = repeat("a", 150000); ` + nested("", "", `x matches "(a*)*b" or `, 500) + "ok",
		"repetitions in a pattern":       `sku matches "((a{1,1000}){1,1000}){1,1000}"`,
		"a high power":                   `qty ** 999999999 ** 999999999 > 0`,
		"exponents far apart":            `price + 1e308 * 1e308 * 1e308 > 1e-308`,
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			if p, err := condition.Compile(src, columns); err == nil {
				_, err = p.Match(sample(t))
				t.Logf("judged: %v", err)
			} else {
				t.Logf("refused: %.200v", err)
			}
			if took := time.Since(started); took > busy {
				t.Errorf("took %s", took)
			}
		})
	}
}

// The same for a result: predicates within predicates over many rows.
func TestHostileResultsEndSoon(t *testing.T) {
	const n = 20_000
	rows := make([]*row.Row, n)
	for i := range rows {
		rows[i] = row.New(resultColumns)
		rows[i].Values[0] = row.TextOf(strings.Repeat("s", 100) + strconv.Itoa(i))
		rows[i].Values[1] = decimal(t, "12345678901234567890."+strconv.Itoa(i))
		rows[i].Values[4] = row.JSONOf(`{"tags":[` + strings.Repeat(`"a",`, 500) + `"b"]}`)
	}
	long := resultOf(t, "A 1 x true", "A 1 x true")
	for _, r := range long {
		r.Values[0] = row.TextOf(strings.Repeat("x", 8<<20))
	}
	for name, c := range map[string]struct {
		src  string
		rows []*row.Row
		want string // the beginning of the error
	}{
		"each with each":          {`any(rows, let s = .sku; count(rows, .sku == s) > 1)`, rows, "the expression takes more than 10000000 steps for one result"},
		"three levels":            {`all(rows, all(rows, all(rows, true)))`, rows, "the expression takes more than 10000000 steps for one result"},
		"lists in a predicate":    {`any(rows, len(map(rows, .n)) < 0)`, rows, "the expression builds more than 64 MB for one result"},
		"sorted again and again":  {`any(rows, sort(map(rows, .sku))[0] == "")`, rows, "the expression builds more than 64 MB for one result"},
		"membership":              {`let skus = map(rows, .sku); any(rows, not (.sku in skus))`, rows, "the expression takes more than 10000000 steps for one result"},
		"sums":                    {`let all_qty = map(rows, .qty); any(rows, sum(all_qty) < 0)`, rows, "the expression takes more than 10000000 steps for one result"},
		"JSON":                    {`any(rows, any(.doc.tags, # == "c"))`, rows, "the expression builds more than 64 MB for one result"},
		"filters":                 {`any(rows, len(filter(rows, true)) < 0)`, rows, "the expression takes more than 10000000 steps for one result"},
		"patterns":                {`any(rows, .sku matches "(s*)*b" or .sku matches "(s|ss)*c" or .sku matches "(s+)+d" or .sku matches "(s?){20}e")`, rows, "the expression reads more text than it may for one result"},
		"texts":                   {`any(rows, repeat(.sku, 1000) == "")`, rows, "the expression builds more than 64 MB for one result"},
		"digits":                  {`let a = sum(rows, .qty); let b = a * a * a * a * a * a; let c = b * b * b * b * b * b; any(rows, c * b < 0 or c * b + .qty < 0)`, rows, "the expression takes more than 10000000 steps for one result"},
		"long texts are compared": {strings.Repeat(`rows[0].sku < rows[1].sku or `, 400) + `false`, long, "the expression reads more text than it may for one result"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := condition.CompileResult(c.src, resultColumns)
			if err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			_, err = p.MatchResult(c.rows)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if took := time.Since(started); took > busy {
				t.Errorf("took %s", took)
			} else {
				t.Logf("%s", took)
			}
		})
	}
}

// Normal expressions are far from the bounds.
func TestOrdinaryResultsAreWithinBounds(t *testing.T) {
	rows := make([]*row.Row, 100_000)
	for i := range rows {
		rows[i] = row.New(resultColumns)
		rows[i].Values[0], rows[i].Values[1] = row.TextOf("SKU-"+strconv.Itoa(i%1000)), row.DecimalOf(int64(i), 2)
		rows[i].Values[2] = row.IntOf(int64(i))
	}
	for _, src := range []string{
		`any(rows, .qty < 0 and not (.sku startsWith "TEST-"))`,
		`sum(rows, .qty * 1.19 + 0.5) < 0 or mean(map(rows, .qty)) < 0 or max(map(rows, .qty)) < 0`,
		`count(rows, .sku matches "^SKU-[0-9]+$") < row_count`,
		`len(filter(rows, .qty > 100)) * 100 / row_count > 101`,
		`len(uniq(map(rows, .sku))) != 1000`,
		`median(map(rows, .n)) < 0`,
	} {
		p, err := condition.CompileResult(src, resultColumns)
		if err != nil {
			t.Fatal(err)
		}
		if met, err := p.MatchResult(rows); met || err != nil {
			t.Errorf("%s: %v, %v", src, met, err)
		}
	}
	few := `any(rows, let s = .sku; count(rows, .sku == s) > 10)`
	p, err := condition.CompileResult(few, resultColumns)
	if err != nil {
		t.Fatal(err)
	}
	if met, err := p.MatchResult(rows[:1000]); met || err != nil {
		t.Errorf("each of 1000 with each: %v, %v", met, err)
	}
}

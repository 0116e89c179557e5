package condition_test

import (
	"strings"
	"testing"
	"time"

	"tallyman/rules/condition"
)

// What an author can write to make a compiler or an evaluation blow up ends soon here, as an error or not: in a second, or in
// some on a busy machine, where without the bounds it takes minutes or all memory.
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
			if took := time.Since(started); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

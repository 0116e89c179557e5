package condition_test

import (
	"testing"
	"time"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// FuzzCompile looks for panics, for expressions that take long, and for faults without a place.
func FuzzCompile(f *testing.F) {
	for _, src := range []string{
		`qty < 0 and not (sku startsWith "TEST-")`,
		`price * (0.1 + 0.2) / 3 % 5 >= -big ?? 1`,
		`n_int ?? qty in [1, 2, nil] or sku matches "^a+$"`,
		`let s = split(sku, "-"); s[0] + string(len(s[1:2])) | upper()`,
		`at.In(timezone("Asia/Shanghai")).Hour() > 5 ? duration("1d2h") : now() - day`,
		`doc.lines[0].qty + sum([1, 2.5]) - max(qty, price)`,
		`1 < (1 < (1 < 2 < 3 ? 1 : 2) < 3 ? 1 : 2) < 3`,
		`repeat(repeat(replace(sku, "", "xx"), 1000), 1000)`,
		`sort(uniq(reverse(take(split(sku, ""), 3))), "desc")[0]`,
		"b\"\\xff\" == raw // comment",
		`::count(qty) + count`,
		`{"a": [#, .b]}`,
		`if ok {1} else if not ok {2} else {3}`,
		`filter(map([1], {# * 2}), # > 1)`,
		`any(rows, .qty < 0) and row_count > rows[-1].n`,
		`len(filter(rows, {let s = .sku; count(rows, .sku == s) > 1})) > 0`,
		`sum(map(rows, .qty ?? 0)) + mean(rows | map(.n)) - median(map(rows, #.qty))`,
		`find(rows, .held)?.doc.tags[0] == first(sort(uniq(map(take(rows, 2), .sku)), "desc"))`,
		`let worst = findLast(rows, one(.doc.tags, # == "a")); worst.qty == nil`,
		`none(rows[1:], all(reverse(split(.sku, "")), # in "AB"))`,
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		started := time.Now()
		_ = condition.Parse(src)
		if p, ok := compiled(t, src, condition.Compile, columns); ok {
			r := sample(t)
			if v, err := p.Eval(r); err == nil {
				_, _ = v.String(), v.AppendKey(nil)
			}
			_, _ = p.Match(r)
		}
		if p, ok := compiled(t, src, condition.CompileResult, resultColumns); ok {
			for _, rows := range [][]*row.Row{nil, resultOf(t, "A -0.10 x true", "B - - -")} {
				if v, err := p.EvalResult(rows); err == nil {
					_, _ = v.String(), v.AppendKey(nil)
				}
				_, _ = p.MatchResult(rows)
			}
		}
		if took := time.Since(started); took > 20*time.Second {
			t.Fatalf("%q took %s", src, took)
		}
	})
}

// compiled returns the program, or looks at the faults.
func compiled(t *testing.T, src string, compile func(string, []row.Column) (*condition.Program, error), columns []row.Column) (*condition.Program, bool) {
	t.Helper()
	p, err := compile(src, columns)
	if err == nil {
		p.SetNow(firing)
		return p, true
	}
	all := condition.Errors(err)
	if len(all) == 0 {
		t.Fatalf("%q: an error of another kind: %v", src, err)
	}
	for _, e := range all {
		if e.Message == "" || e.Code == "" || e.Offset < 0 || e.Offset > len([]rune(src)) {
			t.Fatalf("%q: %+v", src, e)
		}
	}
	return nil, false
}

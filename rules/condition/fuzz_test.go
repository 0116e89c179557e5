package condition_test

import (
	"testing"
	"time"

	"tallyman/rules/condition"
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
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		started := time.Now()
		_ = condition.Parse(src)
		p, err := condition.Compile(src, columns)
		if err != nil {
			all := condition.Errors(err)
			if len(all) == 0 {
				t.Fatalf("%q: an error of another kind: %v", src, err)
			}
			for _, e := range all {
				if e.Message == "" || e.Code == "" || e.Offset < 0 || e.Offset > len([]rune(src)) {
					t.Fatalf("%q: %+v", src, e)
				}
			}
			return
		}
		p.SetNow(firing)
		r := sample(t)
		if v, err := p.Eval(r); err == nil {
			_, _ = v.String(), v.AppendKey(nil)
		}
		_, _ = p.Match(r)
		if took := time.Since(started); took > 20*time.Second {
			t.Fatalf("%q took %s", src, took)
		}
	})
}

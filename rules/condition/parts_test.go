package condition_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

func TestPartsAndTheirOutcomes(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`qty < 0`:  `0 qty < 0: true`,
		`  (ok)  `: `3 ok: true`,
		`qty < 0 and not (sku startsWith "TEST-")`: `0 qty < 0 and not (sku startsWith "TEST-"): false
			0  qty < 0: true
			12  not (sku startsWith "TEST-"): false
			17   sku startsWith "TEST-": true`,
		// Parts after the decision are not reached. A chain is one list.
		`qty > 0 and ok and n_bool`: `0 qty > 0 and ok and n_bool: false
			0  qty > 0: false
			12  ok: not reached
			19  n_bool: not reached`,
		`n_bool and ok or (price > 1 || qty / 0 > 1)`: `0 n_bool and ok or (price > 1 || qty / 0 > 1): true
			0  n_bool and ok: null
			0   n_bool: null
			11   ok: true
			18  price > 1: true
			31  qty / 0 > 1: not reached`,
		`round(price / 0.0) > 1 and ok`: `0 round(price / 0.0) > 1 and ok: error
			0  round(price / 0.0) > 1: error
			27  ok: not reached`,
		`n_bool ? ok : qty > 0 ? ok : price > 1`: `0 n_bool ? ok : qty > 0 ? ok : price > 1: true
			0  n_bool: null
			9  ok: not reached
			14  qty > 0 ? ok : price > 1: true
			14   qty > 0: false
			24   ok: not reached
			29   price > 1: true`,
		`doc.wave and ok`: `0 doc.wave and ok: error
			0  doc.wave: error
			13  ok: not reached`,
		// The variables go along.
		`let n = -qty; n > 2 and (let m = n + 1; m > 9 or n in [m - 1])`: `0 let n = -qty; n > 2 and (let m = n + 1; m > 9 or n in [m - 1]): true
			14  n > 2: true
			25  let m = n + 1; m > 9 or n in [m - 1]: true
			40   m > 9: false
			49   n in [m - 1]: true`,
		// Nobody wrote an operand here.
		`-5 < qty < 0`:                  `0 -5 < qty < 0: true`,
		`qty not in [1, 2]`:             `0 qty not in [1, 2]: true`,
		`if ok {qty > 0} else {n_bool}`: `0 if ok {qty > 0} else {n_bool}: false`,
		`(ok ? 1 : 2) == 1`:             `0 (ok ? 1 : 2) == 1: true`,
		`(name contains "补货") and (ok)`: `0 (name contains "补货") and (ok): true
			1  name contains "补货": true
			26  ok: true`,
		`true`: `0 true: true constant`,
		`ok and 1 < 2`: `0 ok and 1 < 2: true
			0  ok: true
			7  1 < 2: true constant`,
	} {
		if got := outcomesOf(t, src); got != strings.ReplaceAll(want, "\t", "") {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func outcomesOf(t *testing.T, src string) string {
	t.Helper()
	parts, err := condition.NewParts(src, columns)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	parts.SetNow(firing)
	outcomes, faults := parts.Outcomes(sample(t))
	var lines []string
	for i, p := range parts.List() {
		line := fmt.Sprintf("%d %s%s: %s", p.Offset, strings.Repeat(" ", p.Depth), p.Text, outcomes[i])
		if p.Constant {
			line += " constant"
		}
		lines = append(lines, line)
		if (faults[i] != nil) != (outcomes[i] == condition.Failed) {
			t.Errorf("%s: %s with the error %v", p.Text, outcomes[i], faults[i])
		}
	}
	return strings.Join(lines, "\n")
}

func TestPartsOfAResult(t *testing.T) {
	t.Parallel()
	parts, err := condition.NewResultParts(`row_count > 1 and (any(rows, .qty < 0) or sum(map(rows, .qty)) > 9)`, columns)
	if err != nil {
		t.Fatal(err)
	}
	outcomes, _ := parts.ResultOutcomes([]*row.Row{sample(t), sample(t)})
	var lines []string
	for i, p := range parts.List() {
		lines = append(lines, p.Text+": "+outcomes[i].String())
	}
	want := `row_count > 1 and (any(rows, .qty < 0) or sum(map(rows, .qty)) > 9): true
row_count > 1: true
any(rows, .qty < 0) or sum(map(rows, .qty)) > 9: true
any(rows, .qty < 0): true
sum(map(rows, .qty)) > 9: not reached`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	if _, err := condition.NewResultParts("qty < 0", columns); err == nil {
		t.Error("a column stands alone in the condition of a result")
	}
}

func TestPartsOfWhatDoesNotCompile(t *testing.T) {
	t.Parallel()
	if _, err := condition.NewParts("qtty < 0", columns); len(condition.Errors(err)) != 1 {
		t.Errorf("got %v", err)
	}
}

// TestPartsAreBounded checks that a condition with too many operands is one part.
func TestPartsAreBounded(t *testing.T) {
	t.Parallel()
	parts, err := condition.NewParts("ok"+strings.Repeat(" and ok", 1000), columns)
	if err != nil || len(parts.List()) != 1 {
		t.Fatalf("%d parts, %v", len(parts.List()), err)
	}
}

// TestPartsAgainstTheWhole checks that each part that is reached has the same outcome as its text alone, and that the
// first part is the whole condition.
func TestPartsAgainstTheWhole(t *testing.T) {
	t.Parallel()
	columns := []row.Column{{Name: "a", Kind: row.Bool}, {Name: "b", Kind: row.Bool}, {Name: "c", Kind: row.Bool}}
	rapid.Check(t, func(t *rapid.T) {
		src := formulas(4).Draw(t, "formula").src
		parts, err := condition.NewParts(src, columns)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		r := row.New(columns)
		for i := range r.Values {
			r.Values[i] = rapid.SampledFrom([]row.Value{{}, row.BoolOf(false), row.BoolOf(true)}).Draw(t, "value")
		}
		outcomes, _ := parts.Outcomes(r)
		if outcomes[0] == condition.Unreached {
			t.Fatalf("%s: the whole is not reached", src)
		}
		for i, p := range parts.List() {
			if at := string([]rune(src)[p.Offset:]); !strings.HasPrefix(at, p.Text) {
				t.Fatalf("%s: %q does not stand at %d", src, p.Text, p.Offset)
			}
			alone, err := condition.Compile(p.Text, columns)
			if err != nil {
				t.Fatalf("%s: %q: %v", src, p.Text, err)
			}
			v, err := alone.Eval(r)
			want := condition.Null
			if !v.IsNull() {
				want = map[bool]condition.Outcome{false: condition.False, true: condition.True}[v.Bool()]
			}
			if err != nil || outcomes[i] != condition.Unreached && outcomes[i] != want {
				t.Fatalf("%s: %q is %s, alone %s, %v", src, p.Text, outcomes[i], want, err)
			}
		}
	})
}

// FuzzParts looks for panics, and for parts whose text is not at their offset.
func FuzzParts(f *testing.F) {
	for _, src := range []string{
		`qty < 0 and not (sku startsWith "TEST-") or ok ? n_bool : ok`,
		`let a = qty; (a > 0 && ((ok))) || !ok // said`,
		`ok ?: n_bool`, `(ok ? ok : ok) ? (ok) : ok ? ok : ok`, `sku matches "and" and name[0:1] == ")"`,
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		parts, err := condition.NewParts(src, columns)
		if err != nil {
			return
		}
		parts.SetNow(firing)
		outcomes, faults := parts.Outcomes(sample(t))
		if len(outcomes) != len(parts.List()) || len(faults) != len(outcomes) {
			t.Fatalf("%q: %d outcomes of %d parts", src, len(outcomes), len(parts.List()))
		}
		for _, p := range parts.List() {
			if p.Offset < 0 || p.Offset > len([]rune(src)) || p.Text != "" && !strings.HasPrefix(string([]rune(src)[p.Offset:]), p.Text) {
				t.Fatalf("%q: %q does not stand at %d", src, p.Text, p.Offset)
			}
		}
	})
}

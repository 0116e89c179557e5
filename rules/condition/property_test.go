package condition_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// decimals draws decimals of every size: those of the int64 path, those of apd and those between.
var decimals = rapid.Custom(func(t *rapid.T) string {
	digits := rapid.SampledFrom([]string{`[0-9]{1,3}`, `[0-9]{1,18}`, `[0-9]{17,20}`, `[0-9]{30,40}`})
	s := rapid.StringMatching(`-?`+digits.Draw(t, "length")).Draw(t, "whole")
	if rapid.Bool().Draw(t, "point") {
		s += "." + rapid.StringMatching(digits.Draw(t, "length")).Draw(t, "fraction")
	}
	return s
})

var pair = []row.Column{{Name: "a", Kind: row.Decimal}, {Name: "b", Kind: row.Decimal}}

func rat(t *rapid.T, s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("no number: %s", s)
	}
	return r
}

func programs(t testing.TB, columns []row.Column, sources ...string) map[string]*condition.Program {
	t.Helper()
	all := map[string]*condition.Program{}
	for _, src := range sources {
		p, err := condition.Compile(src, columns)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		all[src] = p
	}
	return all
}

func TestDecimalsAgainstRat(t *testing.T) {
	ps := programs(t, pair, "a + b", "a - b", "a * b", "a % b", "a / b", "-a", "abs(a)", "round(a)", "min(a, b)", "sum([a, b, 1])",
		"a + b * 2 < a - 1", "a < b", "a <= b", "a == b", "a != b", "a > b", "a >= b")
	rapid.Check(t, func(t *rapid.T) {
		as, bs := decimals.Draw(t, "a"), decimals.Draw(t, "b")
		if rapid.IntRange(0, 5).Draw(t, "same") == 0 {
			bs = as + rapid.SampledFrom([]string{"", "0"}).Draw(t, "zero")
			if !strings.Contains(as, ".") {
				bs = as + ".0"
			}
		}
		a, b := rat(t, as), rat(t, bs)
		r := row.New(pair)
		for i, s := range []string{as, bs} {
			v, err := row.ParseDecimal(s)
			if err != nil {
				t.Fatal(err)
			}
			r.Values[i] = v
		}
		eval := func(src string) row.Value {
			v, err := ps[src].Eval(r)
			if err != nil {
				t.Fatalf("%s: %v", src, err)
			}
			return v
		}
		exact := func(src string, want *big.Rat) {
			if got := eval(src); got.Kind() != row.Decimal || rat(t, got.String()).Cmp(want) != 0 {
				t.Fatalf("%s with %s, %s: got %s, want %s", src, as, bs, got, want.FloatString(50))
			}
		}
		exact("a + b", new(big.Rat).Add(a, b))
		exact("a - b", new(big.Rat).Sub(a, b))
		exact("a * b", new(big.Rat).Mul(a, b))
		exact("-a", new(big.Rat).Neg(a))
		exact("abs(a)", new(big.Rat).Abs(a))
		exact("round(a)", roundRat(a))
		exact("sum([a, b, 1])", new(big.Rat).Add(new(big.Rat).Add(a, b), big.NewRat(1, 1)))
		order := a.Cmp(b)
		exact("min(a, b)", map[bool]*big.Rat{true: a, false: b}[order < 0])
		for op, want := range map[string]bool{"<": order < 0, "<=": order <= 0, "==": order == 0, "!=": order != 0, ">": order > 0, ">=": order >= 0} {
			if got := eval("a " + op + " b").Bool(); got != want {
				t.Fatalf("%s %s %s: %v", as, op, bs, got)
			}
		}
		doubled := new(big.Rat).Add(a, new(big.Rat).Add(b, b))
		if got := eval("a + b * 2 < a - 1").Bool(); got != (doubled.Cmp(new(big.Rat).Sub(a, big.NewRat(1, 1))) < 0) {
			t.Fatalf("%s + %s * 2 < %s - 1: %v", as, bs, as, got)
		}
		if b.Sign() == 0 {
			return
		}
		quotient := new(big.Rat).Quo(a, b)
		exact("a % b", new(big.Rat).Sub(a, new(big.Rat).Mul(b, truncRat(quotient))))
		checkQuotient(t, eval("a / b"), quotient)
	})
}

// checkQuotient holds a quotient to 34 digits: off by at most half a unit of the last.
func checkQuotient(t *rapid.T, got row.Value, want *big.Rat) {
	g := rat(t, got.String())
	off := new(big.Rat).Abs(new(big.Rat).Sub(g, want))
	limit := new(big.Rat).Abs(want)
	limit.Mul(limit, rat(t, "5e-34"))
	if off.Cmp(limit) > 0 {
		t.Fatalf("got %s, want %s", got, want.FloatString(60))
	}
}

func truncRat(r *big.Rat) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Quo(r.Num(), r.Denom()))
}

func roundRat(r *big.Rat) *big.Rat {
	half := big.NewRat(int64(r.Sign()), 2)
	return truncRat(new(big.Rat).Add(r, half))
}

// A column compared with a constant takes another path than a column compared with a column.
func TestFastPathsAgainstSlow(t *testing.T) {
	kinds := map[row.Kind]*rapid.Generator[row.Value]{
		row.Int: rapid.Custom(func(t *rapid.T) row.Value { return row.IntOf(rapid.Int64().Draw(t, "n")) }),
		row.Decimal: rapid.Custom(func(t *rapid.T) row.Value {
			v, err := row.ParseDecimal(decimals.Draw(t, "d"))
			if err != nil {
				t.Fatal(err)
			}
			return v
		}),
		row.Text: rapid.Custom(func(t *rapid.T) row.Value { return row.TextOf(rapid.StringMatching(`[ab]{0,3}`).Draw(t, "s")) }),
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]row.Kind{row.Int, row.Decimal, row.Text}).Draw(t, "kind")
		op := rapid.SampledFrom([]string{"<", "<=", "==", "!=", ">", ">="}).Draw(t, "op")
		a, b := kinds[kind].Draw(t, "a"), kinds[kind].Draw(t, "b")
		if rapid.Bool().Draw(t, "equal") {
			b = a
		}
		written := b.String()
		switch kind {
		case row.Text:
			written = fmt.Sprintf("%q", written)
		case row.Decimal:
			if !strings.Contains(written, ".") {
				written += ".0"
			}
		case row.Int:
			if b.Int() == -1<<63 {
				t.Skip("it has no literal")
			}
		default:
			t.Fatalf("no literal of %s", kind)
		}
		columns := []row.Column{{Name: "a", Kind: kind}, {Name: "b", Kind: kind}}
		r := row.New(columns)
		r.Values[1] = b
		if rapid.IntRange(0, 5).Draw(t, "null") > 0 {
			r.Values[0] = a
		}
		slow := outcome(t, "a "+op+" b", r)
		for _, fast := range []string{"a " + op + " " + written, "not (not (a " + op + " " + written + "))"} {
			if got := outcome(t, fast, r); got != slow {
				t.Fatalf("%s with %s: %s, slow: %s", fast, r.Values[0], got, slow)
			}
		}
		mirror := map[string]string{"<": ">", "<=": ">=", "==": "==", "!=": "!=", ">": "<", ">=": "<="}[op]
		if got := outcome(t, written+" "+mirror+" a", r); got != slow {
			t.Fatalf("%s %s a with %s: %s, slow: %s", written, mirror, r.Values[0], got, slow)
		}
	})
}

func outcome(t *rapid.T, src string, r *row.Row) string {
	p, err := condition.Compile(src, r.Columns)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	v, err := p.Eval(r)
	if err != nil {
		return err.Error()
	}
	ok, err := p.Match(r)
	if err != nil || ok != v.Bool() {
		t.Fatalf("%s: Eval %s, Match %v %v", src, v, ok, err)
	}
	return v.Kind().String() + v.String()
}

package condition_test

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
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

// numberKinds are the kinds of numbers that a condition meets. The kind of a number in JSON shows only at run time: an
// int, or a decimal.
var numberKinds = []struct {
	name   string
	column row.Column
	x      string // The number in an expression.
	value  func(t *rapid.T, s string) (row.Value, *big.Rat)
}{
	{"int", row.Column{Name: "x", Kind: row.Int}, "x", func(t *rapid.T, s string) (row.Value, *big.Rat) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			n = rapid.Int64().Draw(t, "n")
		}
		return row.IntOf(n), new(big.Rat).SetInt64(n)
	}},
	{"float", row.Column{Name: "x", Kind: row.Float}, "x", func(t *rapid.T, s string) (row.Value, *big.Rat) {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return row.FloatOf(x), new(big.Rat).SetFloat64(x)
	}},
	{"decimal", row.Column{Name: "x", Kind: row.Decimal}, "x", func(t *rapid.T, s string) (row.Value, *big.Rat) {
		v, err := row.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return v, rat(t, s)
	}},
	{"json", row.Column{Name: "doc", Kind: row.JSON}, "doc.x", func(t *rapid.T, s string) (row.Value, *big.Rat) {
		return row.JSONOf(`{"x": ` + s + `}`), rat(t, s)
	}},
}

// TestNumberFunctionsOfAllKinds gives each function of numbers each kind of number. A function that takes a kind gives
// the right number for it.
func TestNumberFunctionsOfAllKinds(t *testing.T) {
	one := big.NewRat(1, 1)
	whole := func(a *big.Rat, up bool) *big.Rat {
		n := truncRat(a)
		switch n.Cmp(a) {
		case -1:
			if up {
				n.Add(n, one)
			}
		case 1:
			if !up {
				n.Sub(n, one)
			}
		}
		return n
	}
	least := func(a, b *big.Rat) *big.Rat {
		if a.Cmp(b) < 0 {
			return a
		}
		return b
	}
	half := func(a *big.Rat) *big.Rat { return new(big.Rat).Mul(new(big.Rat).Add(a, one), big.NewRat(1, 2)) }
	functions := map[string]struct {
		rounds bool // The result may be a little off: it is a float, or a quotient.
		want   func(a *big.Rat) *big.Rat
	}{
		"abs(%s)":      {false, func(a *big.Rat) *big.Rat { return new(big.Rat).Abs(a) }},
		"-%s":          {false, func(a *big.Rat) *big.Rat { return new(big.Rat).Neg(a) }},
		"round(%s)":    {false, roundRat},
		"ceil(%s)":     {false, func(a *big.Rat) *big.Rat { return whole(a, true) }},
		"floor(%s)":    {false, func(a *big.Rat) *big.Rat { return whole(a, false) }},
		"int(%s)":      {false, truncRat},
		"float(%s)":    {true, func(a *big.Rat) *big.Rat { return a }},
		"min(%s, 1)":   {false, func(a *big.Rat) *big.Rat { return least(a, one) }},
		"max(%s, 1)":   {false, func(a *big.Rat) *big.Rat { return new(big.Rat).Neg(least(new(big.Rat).Neg(a), big.NewRat(-1, 1))) }},
		"sum([%s, 1])": {true, func(a *big.Rat) *big.Rat { return new(big.Rat).Add(a, one) }},
		"mean(%s, 1)":  {true, half}, "median(%s, 1)": {true, half},
	}
	for _, kind := range numberKinds {
		t.Run(kind.name, func(t *testing.T) {
			columns := []row.Column{kind.column}
			compiled := map[string]*condition.Program{}
			for form := range functions {
				src := fmt.Sprintf(form, kind.x)
				p, err := condition.Compile(src, columns)
				var refused *condition.Error
				switch {
				case err == nil:
					compiled[form] = p
				case !errors.As(err, &refused) || refused.Code != condition.CodeDecimal:
					t.Fatalf("%s: %v", src, err)
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				s := rapid.OneOf(decimals, rapid.SampledFrom([]string{
					"1.2", "1.7", "-0.5", "0.0000000000000000001", "-0.0000000000000000001", "9007199254740993.0", "9223372036854775807.5", "-9223372036854775808.0",
				})).Draw(t, "x")
				digits := strings.TrimLeft(strings.TrimPrefix(s, "-"), "0") // JSON has no 007
				if digits == "" || digits[0] == '.' {
					digits = "0" + digits
				}
				if s[0] == '-' {
					digits = "-" + digits
				}
				v, a := kind.value(t, digits)
				r := row.New(columns)
				r.Values[0] = v
				for form, p := range compiled {
					f := functions[form]
					want := f.want(a)
					got, err := p.Eval(r)
					if err != nil {
						if beyond := want.IsInt() && !want.Num().IsInt64() || form == "mean(%s, 1)" || form == "median(%s, 1)"; !beyond || !strings.Contains(err.Error(), "beyond the range of an int") {
							t.Fatalf("%s of %s: %v", form, v, err)
						}
						continue
					}
					exact := new(big.Rat)
					if got.Kind() == row.Float {
						exact.SetFloat64(got.Float())
					} else {
						exact = rat(t, got.String())
					}
					off := new(big.Rat).Abs(new(big.Rat).Sub(exact, want))
					limit := new(big.Rat)
					if f.rounds {
						limit.Mul(new(big.Rat).Add(new(big.Rat).Abs(a), one), rat(t, "4e-16"))
					}
					if off.Cmp(limit) > 0 {
						t.Fatalf("%s of %s: got %s, want %s", form, v, got, want.FloatString(50))
					}
				}
			})
		})
	}
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

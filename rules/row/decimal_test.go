package row_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"

	"tallyman/rules/row"
)

func TestParseDecimalRefuses(t *testing.T) {
	for _, s := range []string{"", "-", ".", "abc", "1.2.3", "1e", "--1", " 1", "1_000", "0x10", "nan7", "1e99999999999", strings.Repeat("1", 200_000)} {
		if v, err := row.ParseDecimal(s); err == nil {
			t.Errorf("%.20q gave %.20s", s, v)
		}
	}
}

// numbers draws Ints and Decimals that are often equal and come in every form: small, apd, padded with zeros.
var numbers = rapid.Custom(func(t *rapid.T) row.Value {
	switch rapid.IntRange(0, 4).Draw(t, "form") {
	case 0:
		return row.IntOf(rapid.Int64Range(-20, 20).Draw(t, "n"))
	case 1:
		return row.IntOf(rapid.Int64().Draw(t, "n"))
	case 2:
		return row.DecimalOf(rapid.Int64Range(-2000, 2000).Draw(t, "n"), rapid.Int32Range(0, 25).Draw(t, "scale"))
	case 3:
		return row.DecimalOf(rapid.Int64().Draw(t, "n"), rapid.Int32Range(0, 18).Draw(t, "scale"))
	}
	return row.BigDecimalOf(apd.New(rapid.Int64Range(-2000, 2000).Draw(t, "n"), rapid.Int32Range(-30, 30).Draw(t, "exponent")))
})

func rat(t *rapid.T, v row.Value) *big.Rat {
	r, ok := new(big.Rat).SetString(v.String())
	if !ok {
		t.Fatalf("%s is no number", v)
	}
	return r
}

func TestNumbersCompareAndKeyByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numbers.Draw(t, "a"), numbers.Draw(t, "b")
		want := rat(t, a).Cmp(rat(t, b))
		if got, err := row.Compare(a, b); err != nil || got != want {
			t.Fatalf("%s (%s) and %s (%s): %d, want %d, %v", a, a.Kind(), b, b.Kind(), got, want, err)
		}
		if got := string(a.AppendKey(nil)) == string(b.AppendKey(nil)); got != (want == 0) {
			t.Fatalf("%s and %s: keys %s, %s", a, b, a.AppendKey(nil), b.AppendKey(nil))
		}
	})
}

func TestFloatsCompareExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := numbers.Draw(t, "number")
		f := rapid.Float64().Draw(t, "float")
		if rapid.Bool().Draw(t, "near") {
			f, _ = rat(t, v).Float64()
			f = rapid.SampledFrom([]float64{f, math.Nextafter(f, 1e300), math.Nextafter(f, -1e300)}).Draw(t, "by")
		}
		exact := new(big.Rat).SetFloat64(f)
		want := rat(t, v).Cmp(exact)
		if got, err := row.Compare(v, row.FloatOf(f)); err != nil || got != want {
			t.Fatalf("%s with %v: %d, want %d", v, f, got, want)
		}
		if got, err := row.Compare(row.FloatOf(f), v); err != nil || got != -want {
			t.Fatalf("%v with %s: %d, want %d", f, v, got, -want)
		}
	})
}

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"1", "-1.50", "1e5", "1e-5", ".5", "5.", "999999999999999999", "9999999999999999999", "NaN", "-Infinity", "+1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := row.ParseDecimal(s)
		if err != nil || len(s) > 1000 {
			return
		}
		text := v.String()
		if len(text) > 200_000 {
			t.Fatalf("%q has %d characters", s, len(text))
		}
		again, err := row.ParseDecimal(text)
		if err != nil || !row.Equal(v, again) || again.String() != text {
			t.Fatalf("%q became %q and %q, %v", s, text, again, err)
		}
	})
}

func TestMinus(t *testing.T) {
	t.Parallel()
	big, err := row.ParseDecimal("123456789012345678901234567890.5")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v    row.Value
		want string
	}{
		{row.IntOf(7000), "int 2000"},
		{row.IntOf(math.MinInt64 + 3), "int -9223372036854775808"},
		{row.DecimalOf(700050, 2), "decimal 2000.50"},
		{big, "decimal 123456789012345678901234562890.5"},
		{row.FloatOf(5000.5), "float 0.5"},
		{row.TextOf("a"), "text a"},
	} {
		got := c.v.Minus(5000)
		if text := got.Kind().String() + " " + got.String(); text != c.want {
			t.Errorf("%s: %s, want %s", c.v, text, c.want)
		}
	}
}

package row

import (
	"fmt"
	"math"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// maxScale is the most digits after the point of a Decimal without apd, because 10^18 is the largest power of ten in an
// int64.
const maxScale = 18

// pow10 holds 10^0 … 10^18.
var pow10 = [maxScale + 1]int64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

// maxParsed is the most bytes that ParseDecimal reads. PostgreSQL's widest numeric has 147,455 digits.
const maxParsed = 150_000

// ParseDecimal reads a decimal in the forms of databases and people: digits with an optional sign, point and exponent,
// or NaN, Infinity and -Infinity. It keeps the digits after the point, so that "1.50" prints as "1.50".
func ParseDecimal(s string) (Value, error) {
	if v, ok := parseSmall(s); ok {
		return v, nil
	}
	if len(s) > maxParsed {
		return Value{}, fmt.Errorf("a decimal of %d characters is too long", len(s))
	}
	switch strings.ToLower(s) {
	case "nan":
		return BigDecimalOf(&apd.Decimal{Form: apd.NaN}), nil
	case "infinity", "+infinity", "inf", "+inf":
		return BigDecimalOf(&apd.Decimal{Form: apd.Infinite}), nil
	case "-infinity", "-inf":
		return BigDecimalOf(&apd.Decimal{Form: apd.Infinite, Negative: true}), nil
	}
	d, _, err := apd.NewFromString(s)
	if err != nil || d.Form != apd.Finite {
		return Value{}, fmt.Errorf("%q is not a decimal", clip(s))
	}
	return NormalDecimalOf(d), nil
}

// parseSmall reads a decimal whose digits fit an int64. It allocates nothing. It returns false for any other text.
func parseSmall(s string) (Value, bool) {
	digits, point, negative := 0, -1, false
	var n int64
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			digits++
			if digits > maxScale {
				return Value{}, false
			}
			n = n*10 + int64(c-'0')
		case c == '.' && point < 0:
			point = digits
		case i == 0 && (c == '-' || c == '+'):
			negative = c == '-'
		default:
			return Value{}, false
		}
	}
	if digits == 0 {
		return Value{}, false
	}
	if negative {
		n = -n
	}
	if point < 0 {
		return DecimalOf(n, 0), true
	}
	return DecimalOf(n, int32(digits-point)), true
}

// NormalDecimalOf makes a Decimal from d. It uses the small form where d fits, so that the fast paths apply. It may
// keep d, so the caller must not change d afterwards.
func NormalDecimalOf(d *apd.Decimal) Value {
	if d.Form == apd.NaNSignaling {
		return BigDecimalOf(&apd.Decimal{Form: apd.NaN})
	}
	if d.Form != apd.Finite || !d.Coeff.IsInt64() || d.Exponent < -maxScale || d.Exponent > maxScale {
		return BigDecimalOf(d)
	}
	n := d.Coeff.Int64()
	if d.Negative {
		n = -n
	}
	if d.Exponent <= 0 {
		return DecimalOf(n, -d.Exponent)
	}
	if scaled, ok := mul64(n, pow10[d.Exponent]); ok {
		return DecimalOf(scaled, 0)
	}
	return BigDecimalOf(d)
}

// Unscaled returns the digits of an Int or a Decimal, and how many of them are after the point. It returns false where
// only Apd can give the number.
func (v Value) Unscaled() (unscaled int64, scale int32, ok bool) {
	switch {
	case v.kind == Int:
		return v.num, 0, true
	case v.kind == Decimal && v.big == nil:
		return v.num, v.scale, true
	}
	return 0, 0, false
}

// Apd returns a number of any kind as an apd decimal with exactly the same value. The result is scratch, or belongs to
// the value, so the caller must not change it.
func (v Value) Apd(scratch *apd.Decimal) *apd.Decimal {
	switch {
	case v.kind == Float:
		return floatToApd(scratch, v.flt)
	case v.big != nil:
		return v.big
	case v.kind == Int:
		return scratch.SetFinite(v.num, 0)
	}
	return scratch.SetFinite(v.num, -v.scale)
}

// Minus returns the number minus n, with the same kind. An Int stops at the least int64. A value that is not a number
// stays as it is.
func (v Value) Minus(n int64) Value {
	if v.kind == Int {
		if n > 0 && v.num < math.MinInt64+n {
			return IntOf(math.MinInt64)
		}
		return IntOf(v.num - n)
	}
	if v.kind == Float {
		return FloatOf(v.flt - float64(n))
	}
	if v.kind == Decimal {
		var scratch, difference apd.Decimal
		if _, err := exactly.Sub(&difference, v.Apd(&scratch), apd.New(n, 0)); err == nil {
			return NormalDecimalOf(&difference)
		}
	}
	return v
}

// exactly has more digits than the numbers of any warehouse, so that differences are exact.
var exactly = apd.BaseContext.WithPrecision(1000)

// floatToApd converts a float exactly: a float is mantissa × 2^exponent, and 2^-n is 5^n × 10^-n.
func floatToApd(d *apd.Decimal, f float64) *apd.Decimal {
	switch {
	case math.IsNaN(f):
		*d = apd.Decimal{Form: apd.NaN}
		return d
	case math.IsInf(f, 0):
		*d = apd.Decimal{Form: apd.Infinite, Negative: f < 0}
		return d
	}
	frac, exp := math.Frexp(f)
	mantissa := int64(frac * (1 << 53)) // exact: a float has 53 bits
	exp -= 53
	for mantissa != 0 && mantissa&1 == 0 && exp < 0 {
		mantissa >>= 1
		exp++
	}
	d.SetFinite(mantissa, 0)
	switch {
	case exp > 0:
		d.Coeff.Lsh(&d.Coeff, uint(exp))
	case exp < 0 && mantissa != 0:
		var five apd.BigInt
		five.Exp(apd.NewBigInt(5), apd.NewBigInt(int64(-exp)), nil)
		d.Coeff.Mul(&d.Coeff, &five)
		d.Exponent = int32(exp) //nolint:gosec // at least -1074
	}
	return d
}

// mul64 multiplies. It returns false on overflow.
func mul64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	p := a * b
	if p/b != a || (a == -1 && b == math.MinInt64) || (b == -1 && a == math.MinInt64) {
		return 0, false
	}
	return p, true
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

package condition

import (
	"math"
	"strconv"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
)

// Numbers beyond these bounds are an error of the row. No warehouse has such numbers. Without a bound, a repeated `x *
// x` of a variable would double its digits each time.
const (
	maxDigits   = 2000
	maxExponent = 4000
)

// Quotients of decimals are rounded to quotientDigits, half to even.
const quotientDigits = 34

var (
	exactly   = apd.Context{MaxExponent: apd.MaxExponent, MinExponent: apd.MinExponent, Traps: apd.DefaultTraps}
	remainder = *exactly.WithPrecision(apd.MaxExponent)
	quotient  = apd.Context{
		Precision: quotientDigits, Rounding: apd.RoundHalfEven,
		MaxExponent: apd.MaxExponent, MinExponent: apd.MinExponent, Traps: apd.DefaultTraps,
	}
)

// calculate applies + - * / % to two numbers that are not NULL. Two ints give an int, but their quotient is a float. A
// float on either side gives a float. All else is calculated with exact decimals.
func calculate(f *frame, op byte, a, b row.Value, at int) row.Value {
	switch {
	case a.Kind() == row.Float || b.Kind() == row.Float || op == '/' && a.Kind() == row.Int && b.Kind() == row.Int:
		return calculateFloats(f, op, floatOf(a), floatOf(b), at)
	case a.Kind() == row.Int && b.Kind() == row.Int:
		return calculateInts(f, op, a.Int(), b.Int(), at)
	}
	return calculateDecimals(f, op, a, b, at)
}

func calculateInts(f *frame, op byte, a, b int64, at int) row.Value {
	var n int64
	ok := true
	switch op {
	case '+':
		n, ok = add64(a, b)
	case '-':
		n, ok = sub64(a, b)
	case '*':
		n, ok = mul64(a, b)
	case '%':
		if b == 0 {
			return f.fail(at, "division by zero")
		}
		n = a % b
	}
	if !ok {
		return f.fail(at, "%d %c %d is beyond the range of an int", a, op, b)
	}
	return row.IntOf(n)
}

func calculateFloats(f *frame, op byte, a, b float64, at int) row.Value {
	switch op {
	case '+':
		return row.FloatOf(a + b)
	case '-':
		return row.FloatOf(a - b)
	case '*':
		return row.FloatOf(a * b)
	}
	if b == 0 {
		return f.fail(at, "division by zero")
	}
	if op == '%' {
		return row.FloatOf(math.Mod(a, b))
	}
	return row.FloatOf(a / b)
}

// calculateDecimals calculates with exact decimals. It tries int64 arithmetic first, because that needs no allocation.
func calculateDecimals(f *frame, op byte, a, b row.Value, at int) row.Value {
	an, as, aok := a.Unscaled()
	bn, bs, bok := b.Unscaled()
	if (op == '/' || op == '%') && isZero(b) {
		return f.fail(at, "division by zero")
	}
	if aok && bok {
		if n, scale, ok := calculateSmall(op, an, as, bn, bs); ok {
			return row.DecimalOf(n, scale)
		}
	}
	return calculateBig(f, op, a, b, at)
}

// calculateSmall calculates with int64. It returns false where a number does not fit. b must not be 0 for / and %.
func calculateSmall(op byte, a int64, as int32, b int64, bs int32) (n int64, scale int32, ok bool) {
	switch op {
	case '*':
		n, ok = mul64(a, b)
		return n, as + bs, ok && as+bs <= maxScale
	case '/':
		return quotientSmall(a, as, b, bs)
	}
	if a, b, scale, ok = align(a, as, b, bs); !ok {
		return 0, 0, false
	}
	switch op {
	case '+':
		n, ok = add64(a, b)
	case '-':
		n, ok = sub64(a, b)
	case '%':
		n = a % b
	}
	return n, scale, ok
}

// quotientSmall divides with int64. It returns false where the digits of the quotient do not end within an int64.
func quotientSmall(a int64, as int32, b int64, bs int32) (int64, int32, bool) {
	scale := as - bs
	for {
		if scale >= 0 && a%b == 0 && (b != -1 || a != math.MinInt64) {
			return a / b, scale, true
		}
		var ok bool
		if a, ok = mul64(a, 10); !ok || scale >= maxScale {
			return 0, 0, false
		}
		scale++
	}
}

func calculateBig(f *frame, op byte, a, b row.Value, at int) row.Value {
	var xs, ys apd.Decimal
	x, y := a.Apd(&xs), b.Apd(&ys)
	if !inBounds(x) || !inBounds(y) {
		return f.fail(at, "a decimal has more than %d digits", maxDigits)
	}
	const least = 50 // each calculation allocates memory
	if !f.step(least+int(x.NumDigits()+y.NumDigits())/4+int(x.NumDigits()*y.NumDigits()>>8), at) {
		return row.Value{}
	}
	d := new(apd.Decimal)
	var err error
	switch op {
	case '+':
		_, err = exactly.Add(d, x, y)
	case '-':
		_, err = exactly.Sub(d, x, y)
	case '*':
		_, err = exactly.Mul(d, x, y)
	case '/':
		_, err = quotient.Quo(d, x, y)
	case '%':
		_, err = remainder.Rem(d, x, y)
	}
	if err != nil {
		return f.fail(at, "%s %c %s has no value", a, op, b)
	}
	if op == '/' && d.Form == apd.Finite {
		d.Reduce(d)
	}
	if !inBounds(d) {
		return f.fail(at, "a decimal has more than %d digits", maxDigits)
	}
	return row.NormalDecimalOf(d)
}

func inBounds(d *apd.Decimal) bool {
	return d.Form != apd.Finite || d.Exponent >= -maxExponent && d.Exponent <= maxExponent && d.NumDigits() <= maxDigits
}

// floatOf returns the float nearest to a number.
func floatOf(v row.Value) float64 {
	switch v.Kind() {
	case row.Float:
		return v.Float()
	case row.Int:
		return float64(v.Int())
	default:
		if n, scale, ok := v.Unscaled(); ok && scale <= 15 && n > -1<<53 && n < 1<<53 {
			return float64(n) / math.Pow10(int(scale)) // both floats are exact, so the quotient is the nearest float
		}
	}
	var scratch apd.Decimal
	d := v.Apd(&scratch)
	if d.Form == apd.NaN || d.Form == apd.NaNSignaling {
		return math.NaN()
	}
	x, _ := d.Float64() // a number beyond the floats becomes an infinity
	return x
}

func isZero(v row.Value) bool {
	if n, _, ok := v.Unscaled(); ok {
		return n == 0
	}
	var scratch apd.Decimal
	return v.Apd(&scratch).IsZero()
}

// isWhole tells whether a number has no fraction.
func isWhole(v row.Value) bool {
	switch v.Kind() {
	case row.Int:
		return true
	case row.Float:
		return v.Float() == math.Trunc(v.Float())
	default:
		whole, ok := roundDecimal(v, apd.RoundDown)
		return ok && row.Equal(whole, v)
	}
}

// roundDecimal rounds to a whole number: RoundHalfUp away from zero at a half, RoundDown towards zero, RoundCeiling or
// RoundFloor. It returns false where the number is out of bounds.
func roundDecimal(v row.Value, rounding apd.Rounder) (row.Value, bool) {
	if n, scale, ok := v.Unscaled(); ok && scale <= maxScale {
		unit := pow10[scale]
		whole, rest := n/unit, n%unit
		switch {
		case rest > 0 && (rounding == apd.RoundCeiling || rounding == apd.RoundHalfUp && rest >= unit-rest):
			whole++
		case rest < 0 && (rounding == apd.RoundFloor || rounding == apd.RoundHalfUp && -rest >= unit+rest):
			whole--
		}
		return row.DecimalOf(whole, 0), true
	}
	var scratch apd.Decimal
	d := v.Apd(&scratch)
	if d.Form != apd.Finite {
		return v, true
	}
	if !inBounds(d) {
		return row.Value{}, false
	}
	if d.Exponent >= 0 {
		return v, true
	}
	c := exactly.WithPrecision(maxDigits + maxExponent)
	c.Rounding = rounding
	toWhole := c.RoundToIntegralValue // makes 0 of a number far below 1, whatever the rounding is
	if rounding == apd.RoundCeiling {
		toWhole = c.Ceil
	}
	if rounding == apd.RoundFloor {
		toWhole = c.Floor
	}
	r := new(apd.Decimal)
	if _, err := toWhole(r, d); err != nil {
		return row.Value{}, false
	}
	return row.NormalDecimalOf(r), true
}

// numberFunctions are the functions of one number. The functions round, ceil and floor return ints unchanged.
var numberFunctions = map[string]builtinFunction{
	"abs": {params: "n", exact: true, compile: functionCompiler.abs},
	"round": {params: "n", exact: true, compile: func(c functionCompiler, at int, a []operand) operand {
		return c.round(at, a, math.Round, apd.RoundHalfUp)
	}},
	"ceil": {params: "n", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.round(at, a, math.Ceil, apd.RoundCeiling)
	}},
	"floor": {params: "n", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.round(at, a, math.Floor, apd.RoundFloor)
	}},
	"int": {params: "x", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.each(row.Int, "x", at, a, func(f *frame, v []row.Value) row.Value { return toInt(f, v[0], at) })
	}},
	"float": {params: "x", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.each(row.Float, "x", at, a, func(f *frame, v []row.Value) row.Value { return toFloat(f, v[0], at) })
	}},
}

func (c functionCompiler) abs(at int, args []operand) operand {
	x := args[0]
	if x.literal {
		return literalOf(absOf(&frame{most: &rowBounds}, x.value, at), at)
	}
	return c.each(x.kind, "n", at, args, func(f *frame, v []row.Value) row.Value { return absOf(f, v[0], at) })
}

func absOf(f *frame, v row.Value, at int) row.Value {
	if order, err := row.Compare(v, row.IntOf(0)); err != nil || order >= 0 {
		return v
	}
	return negate(f, v, at)
}

// round compiles round, ceil and floor. float is the function for floats, and rounding that for decimals. Of the three
// functions, only round takes a column of decimals. A number from JSON with a fraction is a decimal too, so ceil and
// floor can get one.
func (c functionCompiler) round(at int, args []operand, float func(float64) float64, rounding apd.Rounder) operand {
	return c.each(args[0].plain().kind, "n", at, args, func(f *frame, v []row.Value) row.Value {
		switch v[0].Kind() {
		case row.Int:
			return v[0]
		case row.Float:
			return row.FloatOf(float(v[0].Float()))
		default:
			r, ok := roundDecimal(v[0], rounding)
			if !ok {
				return f.fail(at, "a decimal has more than %d digits", maxDigits)
			}
			return r
		}
	})
}

// toInt converts a value to an int. It cuts the fraction of a float or a decimal, and reads a text.
func toInt(f *frame, v row.Value, at int) row.Value {
	switch v.Kind() {
	case row.Int:
		return v
	case row.Text:
		n, err := strconv.ParseInt(v.Text(), 10, 64)
		if err != nil {
			return f.fail(at, "%q is no int", clip(v.Text()))
		}
		return row.IntOf(n)
	case row.Decimal:
		whole, _ := roundDecimal(v, apd.RoundDown)
		if row.Equal(whole, row.IntOf(math.MinInt64)) {
			return row.IntOf(math.MinInt64)
		}
		n, _, ok := whole.Unscaled()
		if !ok {
			return f.fail(at, "%s is beyond the range of an int", v)
		}
		return row.IntOf(n)
	case row.Float:
		x := math.Trunc(v.Float())
		if !(x >= -1<<63 && x < 1<<63) {
			return f.fail(at, "%s is beyond the range of an int", v)
		}
		return row.IntOf(int64(x))
	default:
		return f.fail(at, "%s does not become an int", v.Kind())
	}
}

func toFloat(f *frame, v row.Value, at int) row.Value {
	switch {
	case v.Kind().IsNumber():
		return row.FloatOf(floatOf(v))
	case v.Kind() == row.Text:
		x, err := strconv.ParseFloat(v.Text(), 64)
		if err != nil {
			return f.fail(at, "%q is no number", clip(v.Text()))
		}
		return row.FloatOf(x)
	}
	return f.fail(at, "%s does not become a float", v.Kind())
}

// clip shortens a text for a message.
func clip(s string) string {
	r := []rune(s)
	if len(r) <= 40 {
		return s
	}
	return string(r[:40]) + "…"
}

package condition

import (
	"math"
	"strconv"

	"tallyman/rules/row"
)

// numberFunctions work on one number. Those that round leave ints as they are.
var numberFunctions = map[string]function{
	"abs":   {params: "n", exact: true, compile: (*compiler).abs},
	"round": {params: "n", exact: true, compile: func(c *compiler, at int, a []operand) operand { return c.round(at, a, math.Round) }},
	"ceil":  {params: "n", compile: func(c *compiler, at int, a []operand) operand { return c.round(at, a, math.Ceil) }},
	"floor": {params: "n", compile: func(c *compiler, at int, a []operand) operand { return c.round(at, a, math.Floor) }},
	"int": {params: "x", compile: func(c *compiler, at int, a []operand) operand {
		return c.each(row.Int, "x", at, a, func(f *frame, v []row.Value) row.Value { return toInt(f, v[0], at) })
	}},
	"float": {params: "x", compile: func(c *compiler, at int, a []operand) operand {
		return c.each(row.Float, "x", at, a, func(f *frame, v []row.Value) row.Value { return toFloat(f, v[0], at) })
	}},
}

func (c *compiler) abs(at int, args []operand) operand {
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

// round applies a rounding of floats; decimals come here to be rounded to the nearest only.
func (c *compiler) round(at int, args []operand, float func(float64) float64) operand {
	return c.each(args[0].plain().kind, "n", at, args, func(f *frame, v []row.Value) row.Value {
		switch v[0].Kind() {
		case row.Int:
			return v[0]
		case row.Float:
			return row.FloatOf(float(v[0].Float()))
		default:
			r, ok := roundDecimal(v[0])
			if !ok {
				return f.fail(at, "a decimal of more than %d digits", maxDigits)
			}
			return r
		}
	})
}

// toInt cuts the fraction of a float and reads a text.
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
	case row.Float, row.Decimal:
		x := math.Trunc(floatOf(v))
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

package message

import (
	"fmt"
	"math"
	"strconv"

	"tallyman/rules/row"
)

// A template sees NULL as the empty text, so that it prints as nothing and is false; bool, int and float as Go's own; texts as
// strings; all else as one of these, which print themselves.

// decimal is a Decimal. The value lies behind the end of the slice where it is zero: the template package takes an empty
// slice for false and a struct always for true.
type decimal []row.Value

func decimalOf(v row.Value) decimal {
	d := decimal{v}
	if c, err := row.Compare(v, row.IntOf(0)); err == nil && c == 0 {
		return d[:0]
	}
	return d
}

// String prints the decimal exactly.
func (d decimal) String() string { return d.value().String() }

func (d decimal) value() row.Value { return d[:1][0] }

// other is a value of the remaining kinds: true in an if, whatever it holds.
type other struct{ v row.Value }

// String prints the value as row does.
func (o other) String() string { return o.v.String() }

// forTemplate is how a template sees v.
func forTemplate(v row.Value) any {
	switch v.Kind() {
	case row.Null:
		return ""
	case row.Bool:
		return v.Bool()
	case row.Int:
		return v.Int()
	case row.Text:
		return v.Text()
	case row.Decimal:
		return decimalOf(v)
	case row.Float:
		if v.Float() == 0 {
			return 0.0 // -0 too
		}
		return float(v.Float())
	default:
		return other{v}
	}
}

// float is a Float that prints as everywhere else, not as Go does.
type float float64

// String prints the shortest digits that read back alike.
func (f float) String() string { return row.FloatOf(float64(f)).String() }

// valueOf reads an argument of a helper: a column, a literal, or what another helper returned.
func valueOf(a any) row.Value {
	switch a := a.(type) {
	case string:
		if a == "" {
			return row.Value{}
		}
		return row.TextOf(a)
	case bool:
		return row.BoolOf(a)
	case int:
		return row.IntOf(int64(a))
	case int64:
		return row.IntOf(a)
	case float:
		return exactFloat(float64(a))
	case float64:
		return exactFloat(a)
	case decimal:
		return a.value()
	case other:
		return a.v
	default:
		return row.TextOf(fmt.Sprint(a)) // a rune or complex literal
	}
}

// exactFloat makes 0.1 equal to the decimal 0.1, which is what a person who wrote it means.
func exactFloat(f float64) row.Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return row.FloatOf(f)
	}
	v, err := row.ParseDecimal(strconv.FormatFloat(f, 'f', -1, 64))
	if err != nil {
		return row.FloatOf(f)
	}
	return v
}

// textOf prints an argument as the template itself would.
func textOf(a any) string {
	if s, ok := a.(string); ok {
		return s
	}
	return fmt.Sprint(a)
}

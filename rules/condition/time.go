package condition

import (
	"math"
	"time"

	"tallyman/rules/row"
)

type calculation func(f *frame, a, b row.Value, at int) row.Value

// timeArithmetic returns what an operator does with times and durations, and the kind of the result; nil
// where it does nothing. A time comes out as a Time, also from a Date.
func timeArithmetic(op string, l, r row.Kind) (row.Kind, calculation) {
	number := func(k row.Kind) bool { return k == row.Int || k == row.Float }
	switch {
	case op == "-" && isInstant(l) && isInstant(r):
		return row.Duration, between
	case op == "+" && isInstant(l) && r == row.Duration:
		return row.Time, shift
	case op == "+" && l == row.Duration && isInstant(r):
		return row.Time, func(f *frame, a, b row.Value, at int) row.Value { return shift(f, b, a, at) }
	case op == "-" && isInstant(l) && r == row.Duration:
		return row.Time, func(f *frame, a, b row.Value, at int) row.Value {
			n, ok := sub64(0, int64(b.Duration()))
			return shift(f, a, duration(f, n, ok, at), at)
		}
	case op == "+" && l == row.Duration && r == row.Duration:
		return row.Duration, func(f *frame, a, b row.Value, at int) row.Value {
			n, ok := add64(int64(a.Duration()), int64(b.Duration()))
			return duration(f, n, ok, at)
		}
	case op == "-" && l == row.Duration && r == row.Duration:
		return row.Duration, func(f *frame, a, b row.Value, at int) row.Value {
			n, ok := sub64(int64(a.Duration()), int64(b.Duration()))
			return duration(f, n, ok, at)
		}
	case op == "*" && l == row.Duration && number(r):
		return row.Duration, times
	case op == "*" && number(l) && r == row.Duration:
		return row.Duration, func(f *frame, a, b row.Value, at int) row.Value { return times(f, b, a, at) }
	case op == "/" && l == row.Duration && r == row.Duration:
		return row.Float, func(f *frame, a, b row.Value, at int) row.Value {
			return calculateFloats(f, '/', float64(a.Duration()), float64(b.Duration()), at)
		}
	}
	return 0, nil
}

func duration(f *frame, nanoseconds int64, ok bool, at int) row.Value {
	if !ok {
		return f.fail(at, "a duration of more than 292 years")
	}
	return row.DurationOf(time.Duration(nanoseconds))
}

// between is a time less another.
func between(f *frame, a, b row.Value, at int) row.Value {
	x, y := a.Time(), b.Time()
	seconds, ok := sub64(x.Unix(), y.Unix())
	if ok {
		seconds, ok = mul64(seconds, int64(time.Second))
	}
	if !ok {
		return duration(f, 0, false, at)
	}
	n, ok := add64(seconds, int64(x.Nanosecond()-y.Nanosecond()))
	return duration(f, n, ok, at)
}

func shift(_ *frame, a, b row.Value, _ int) row.Value {
	return row.TimeOf(a.Time().Add(b.Duration()))
}

func times(f *frame, d, n row.Value, at int) row.Value {
	if n.Kind() == row.Int {
		product, ok := mul64(int64(d.Duration()), n.Int())
		return duration(f, product, ok, at)
	}
	product := math.Round(float64(d.Duration()) * n.Float())
	return duration(f, int64(product), math.Abs(product) < 1<<63, at)
}

// fromTime is fromGo for times and durations.
func fromTime(x any) (row.Value, bool) {
	switch x := x.(type) {
	case time.Time:
		return row.TimeOf(x), true
	case time.Duration:
		return row.DurationOf(x), true
	}
	return row.Value{}, false
}

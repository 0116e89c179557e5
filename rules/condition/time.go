package condition

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"

	"tallyman/rules/row"
)

type calculation func(f *frame, a, b row.Value, at int) row.Value

// timeArithmetic returns the calculation of an operator with times and durations, and the kind of its result. The
// calculation is nil where the operator does not take these kinds. A result that is a time has the kind Time, also for
// a Date.
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
		return f.fail(at, "the duration is longer than 292 years")
	}
	return row.DurationOf(time.Duration(nanoseconds))
}

// between returns the duration from b to a.
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

// timeFunctions are the functions that make times and durations, except date, which has a compiler of its own.
var timeFunctions = map[string]builtinFunction{
	"now": {params: "", compile: func(_ functionCompiler, at int, _ []operand) operand {
		return valueOp(row.Time, at, func(f *frame) row.Value {
			if f.now.IsZero() {
				return f.fail(at, "now() is not known here")
			}
			return row.TimeOf(f.now)
		})
	}},
	"duration": {params: "t", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.each(row.Duration, "t", at, a, func(f *frame, v []row.Value) row.Value {
			d, err := parseDuration(v[0].Text())
			if err != nil {
				return f.fail(at, "%q is no duration; write 90s, 15m, 2h30m or 7d, for example", clip(v[0].Text()))
			}
			return row.DurationOf(d)
		})
	}},
}

// parseDuration reads a duration of Go, with days before it: 2d12h.
func parseDuration(s string) (time.Duration, error) {
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	const most = 106751 // days in an int64 of nanoseconds
	n, err := strconv.ParseInt(days, 10, 32)
	if err != nil || n > most || n < -most {
		return 0, strconv.ErrRange
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 {
		return 0, strconv.ErrSyntax
	}
	if n < 0 || days[0] == '-' {
		more = -more
	}
	sum, ok := add64(int64(d), int64(more))
	if !ok {
		return 0, strconv.ErrRange
	}
	return time.Duration(sum), nil
}

// date compiles date(text), date(text, layout), date(text, layout, zone) and date(timezone(zone), text, …). Without a
// layout, expr's own layouts apply. A time without a zone is in UTC.
func (c functionCompiler) date(n *ast.BuiltinNode) operand {
	at := n.Location().From
	var prefix []any
	nodes := n.Arguments
	if len(nodes) > 0 && isTimezone(nodes[0]) {
		zone, ok := c.zone(nodes[0])
		if !ok {
			return broken(at)
		}
		prefix, nodes = append(prefix, zone), nodes[1:]
	}
	args := make([]operand, len(nodes))
	for i, node := range nodes {
		args[i] = c.compile(node)
	}
	if !c.fits("date", &builtinFunction{params: "t?tt"}, at, args) {
		return broken(at)
	}
	for i, a := range args[1:] {
		if !a.constant || a.kind != row.Text {
			return c.unsupported(a.offset, "the layout and the zone of date() must be constants", "")
		}
		if _, err := time.LoadLocation(a.value.Text()); i == 1 && err != nil {
			c.fail(a.offset, CodeType, "there is no timezone "+strconv.Quote(a.value.Text()), "write an IANA name, such as Europe/Berlin")
			return broken(at)
		}
	}
	if len(args) == 3 { // the zone is loaded here, because expr would load it for every row
		zone, err := time.LoadLocation(args[2].value.Text())
		if err != nil {
			return broken(at)
		}
		prefix, args = []any{zone}, args[:2]
	}
	read := builtin.Builtins[builtin.Index["date"]].Func
	return c.each(row.Time, "t", at, args, func(f *frame, v []row.Value) row.Value {
		all := append(make([]any, 0, 3), prefix...)
		for _, x := range v {
			all = append(all, x.Text())
		}
		t, err := read(all...)
		if err != nil {
			return f.fail(at, "%q is no date that date() can read in this form", clip(v[0].Text()))
		}
		return row.TimeOf(t.(time.Time)) //nolint:forcetypeassert // date always returns a time
	})
}

func isTimezone(n ast.Node) bool {
	b, ok := n.(*ast.BuiltinNode)
	return ok && b.Name == "timezone"
}

// zone loads the zone that timezone("…") names.
func (c functionCompiler) zone(n ast.Node) (*time.Location, bool) {
	b, ok := n.(*ast.BuiltinNode)
	if !ok || b.Name != "timezone" || len(b.Arguments) != 1 {
		c.fail(n.Location().From, CodeType, "a timezone is expected here", `write timezone("Europe/Berlin")`)
		return nil, false
	}
	name, ok := b.Arguments[0].(*ast.StringNode)
	if !ok {
		c.fail(b.Location().From, CodeUnsupported, "the name of a timezone must be a constant", "")
		return nil, false
	}
	zone, err := time.LoadLocation(name.Value)
	if err != nil {
		c.fail(name.Location().From, CodeType, "there is no timezone "+strconv.Quote(name.Value), "write an IANA name, such as Europe/Berlin")
		return nil, false
	}
	return zone, true
}

package condition

import (
	"maps"
	"slices"
	"time"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// timeMethods read a time in the zone that In gave, or UTC. Weekday counts from Sunday, 0.
var timeMethods = map[string]func(time.Time) int64{
	"Year":    func(t time.Time) int64 { return int64(t.Year()) },
	"Month":   func(t time.Time) int64 { return int64(t.Month()) },
	"Day":     func(t time.Time) int64 { return int64(t.Day()) },
	"Hour":    func(t time.Time) int64 { return int64(t.Hour()) },
	"Minute":  func(t time.Time) int64 { return int64(t.Minute()) },
	"Second":  func(t time.Time) int64 { return int64(t.Second()) },
	"Weekday": func(t time.Time) int64 { return int64(t.Weekday()) },
	"YearDay": func(t time.Time) int64 { return int64(t.YearDay()) },
	"Unix":    time.Time.Unix,
}

var durationMethods = map[string]func(time.Duration) float64{
	"Hours":   time.Duration.Hours,
	"Minutes": time.Duration.Minutes,
	"Seconds": time.Duration.Seconds,
}

// method compiles x.Name(…) of a time or duration.
func (c *compiler) method(at int, receiver ast.Node, name string, args []ast.Node) operand {
	x, zone := c.inZone(receiver)
	switch {
	case x.bad:
		return broken(at)
	case x.shape != scalar || !isInstant(x.kind) && x.kind != row.Duration:
		return c.unsupported(at, describe(x)+" has no methods", "")
	case name == "In":
		return c.unsupported(at, "In() stands before a method only", `write x.In(timezone("…")).Hour()`)
	case name == "Format" && isInstant(x.kind):
		return c.format(at, x, zone, args)
	}
	read, known := timeMethods[name]
	measure, measured := durationMethods[name]
	known = known && isInstant(x.kind)
	measured = measured && x.kind == row.Duration
	if !known && !measured {
		names := slices.Sorted(maps.Keys(timeMethods))
		if x.kind == row.Duration {
			names = slices.Sorted(maps.Keys(durationMethods))
		}
		return c.unsupported(at, "there is no method "+name+"() of a "+x.kind.String(), suggest(name, names, "methods"))
	}
	if len(args) != 0 {
		c.fail(at, CodeType, name+"() takes no arguments", "")
		return broken(at)
	}
	if x.kind == row.Duration {
		return c.each(row.Float, "x", at, []operand{x}, func(_ *frame, v []row.Value) row.Value {
			return row.FloatOf(measure(v[0].Duration()))
		})
	}
	return c.each(row.Int, "x", at, []operand{x}, func(_ *frame, v []row.Value) row.Value {
		return row.IntOf(read(v[0].Time().In(zone)))
	})
}

func (c *compiler) format(at int, x operand, zone *time.Location, args []ast.Node) operand {
	if len(args) != 1 {
		c.fail(at, CodeType, "Format() takes a layout", `such as "2006-01-02 15:04"`)
		return broken(at)
	}
	layout := c.compile(args[0])
	if layout.bad || !c.texts("Format()", layout) {
		return broken(at)
	}
	return c.each(row.Text, "x", at, []operand{x, layout}, func(f *frame, v []row.Value) row.Value {
		if !f.spend(4*len(v[1].Text()), at) {
			return row.Value{}
		}
		return row.TextOf(v[0].Time().In(zone).Format(v[1].Text()))
	})
}

// inZone compiles a receiver and takes off the In(timezone("…")) at its end.
func (c *compiler) inZone(n ast.Node) (operand, *time.Location) {
	call, ok := n.(*ast.CallNode)
	if !ok {
		return c.compile(n), time.UTC
	}
	m, ok := call.Callee.(*ast.MemberNode)
	if !ok {
		return c.compile(n), time.UTC
	}
	if name, ok := m.Property.(*ast.StringNode); !ok || name.Value != "In" || len(call.Arguments) != 1 {
		return c.compile(n), time.UTC
	}
	zone, ok := c.zone(call.Arguments[0])
	if !ok {
		return broken(n.Location().From), nil
	}
	return c.compile(m.Node), zone
}

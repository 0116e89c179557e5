package condition

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// member compiles a.b, a["b"] and a[0]. A member that does not exist is NULL.
func (c memberCompiler) member(n *ast.MemberNode) operand {
	at := n.Location().From
	if id, ok := n.Node.(*ast.IdentifierNode); ok && id.Value == "$env" {
		return c.compile(n.Node) // identifier refuses $env
	}
	return c.element(at, c.compile(n.Node), c.compile(n.Property))
}

func (c memberCompiler) element(at int, x, key operand) operand {
	switch {
	case x.bad || key.bad:
		return broken(at)
	case x.shape == record:
		return c.columnOf(at, x, key)
	case x.shape == records:
		return c.rowAt(at, x, key)
	case x.shape == list && key.kind == row.Int && key.shape == scalar:
		return elementOf(at, x, key)
	case x.kind == row.JSON && key.shape == scalar && (key.kind == row.Int || key.kind == row.Text):
		return memberOf(at, x, key)
	case x.kind == row.Text && key.kind == row.Int:
		c.fail(at, CodeType, "a text has no elements", "take a part of it: x[0:1]")
	case x.kind == row.Text && key.kind == row.Text:
		c.fail(at, CodeType, "a text has no members", "read JSON with fromJSON(x)")
	default:
		c.fail(at, CodeType, describe(x)+" has no such members", "")
	}
	return broken(at)
}

func elementOf(at int, x, key operand) operand {
	values, index := x.list, key.val
	return valueOp(x.kind, at, func(f *frame) row.Value {
		all := values(f)
		i := index(f)
		if i.IsNull() {
			return row.Value{}
		}
		n, ok := position(i.Int(), len(all))
		if !ok {
			return row.Value{}
		}
		return all[n]
	})
}

func memberOf(at int, x, key operand) operand {
	get, name := x.treeOf(), key.val
	return treeOp(at, func(f *frame) any {
		k := name(f)
		switch t := get(f).(type) {
		case map[string]any:
			if k.Kind() == row.Text {
				return t[k.Text()]
			}
		case []any:
			if n, ok := position(k.Int(), len(t)); ok && k.Kind() == row.Int {
				return t[n]
			}
		}
		return nil
	})
}

// position converts an index to a position. A negative index counts from the end. It returns false for an index outside
// of the list.
func position(i int64, length int) (int, bool) {
	if i < 0 {
		i += int64(length)
	}
	return int(i), i >= 0 && i < int64(length)
}

// slice compiles x[from:to] of a list, or of a text, by characters. Bounds beyond the ends count as the ends.
func (c memberCompiler) slice(n *ast.SliceNode) operand {
	at := n.Location().From
	x := c.compile(n.Node)
	low, high := constOp(row.IntOf(0), at), constOp(row.IntOf(1<<62), at)
	if n.From != nil {
		low = c.compile(n.From)
	}
	if n.To != nil {
		high = c.compile(n.To)
	}
	if x.bad || low.bad || high.bad {
		return broken(at)
	}
	for _, bound := range []operand{low, high} {
		if bound.shape == list || bound.kind != row.Int && bound.kind != row.Null {
			c.fail(bound.offset, CodeType, "a part goes from int to int, here it has "+describe(bound), "")
			return broken(at)
		}
	}
	from, to := low.val, high.val
	if x.shape == records {
		rows := x.rows
		return operand{shape: records, kind: rowKind, offset: at, column: -1, rows: func(f *frame) []*row.Row {
			all := rows(f)
			i, j := part(from(f), to(f), len(all))
			return all[i:j]
		}}
	}
	if x.shape == list {
		values := x.list
		return operand{shape: list, kind: x.kind, offset: at, column: -1, list: func(f *frame) []row.Value {
			all := values(f)
			i, j := part(from(f), to(f), len(all))
			return all[i:j]
		}}
	}
	if !isText(x) {
		c.fail(at, CodeType, describe(x)+" has no parts", "")
		return broken(at)
	}
	val := x.val
	return c.fold(valueOp(row.Text, at, func(f *frame) row.Value {
		v, a, b := val(f), from(f), to(f)
		s := v.Text()
		if v.IsNull() || a.IsNull() || b.IsNull() || !f.read(s, at) {
			return row.Value{}
		}
		i, j := part(a, b, utf8.RuneCountInString(s))
		return row.TextOf(s[byteAt(s, i):byteAt(s, j)])
	}), x, low, high)
}

// part converts the bounds of a slice to positions.
func part(from, to row.Value, length int) (int, int) {
	resolve := func(v row.Value) int {
		i := v.Int()
		if i < 0 {
			i += int64(length)
		}
		return int(min(max(i, 0), int64(length)))
	}
	j := resolve(to)
	return min(resolve(from), j), j
}

// byteAt returns where the character number n begins.
func byteAt(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// timeMethods are the methods of a time. The time is in the zone of In, or else in UTC. Weekday is 0 for Sunday.
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
func (c memberCompiler) method(at int, receiver ast.Node, name string, args []ast.Node) operand {
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

func (c memberCompiler) format(at int, x operand, zone *time.Location, args []ast.Node) operand {
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

// inZone compiles the receiver of a method, without an In(timezone("…")) at its end. It returns the zone of In, or UTC.
func (c memberCompiler) inZone(n ast.Node) (operand, *time.Location) {
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
	zone, ok := c.functions().zone(call.Arguments[0])
	if !ok {
		return broken(n.Location().From), nil
	}
	return c.compile(m.Node), zone
}

// decode returns the tree of a JSON text. Numbers keep their digits.
func decode(f *frame, s string, at int) any {
	if !f.spend(4*len(s), at) {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil || dec.More() {
		f.fail(at, "the text is not JSON")
		return nil
	}
	return x
}

// treeOf returns the operand, of kind JSON, as a tree.
func (o operand) treeOf() func(*frame) any {
	if o.tree != nil {
		return o.tree
	}
	val, at := o.val, o.offset
	return func(f *frame) any {
		v := val(f)
		if v.Kind() == row.JSON {
			return decode(f, v.Text(), at)
		}
		if v.IsNull() {
			return nil
		}
		return v
	}
}

// treeOp makes an operand from a tree.
func treeOp(at int, get func(*frame) any) operand {
	return operand{shape: tree, kind: row.JSON, offset: at, column: -1, tree: get, val: func(f *frame) row.Value {
		return fromTree(f, get(f), at)
	}}
}

// fromTree returns a node of a tree as a value. Objects and arrays become JSON.
func fromTree(f *frame, x any, at int) row.Value {
	switch x := x.(type) {
	case nil:
		return row.Value{}
	case row.Value:
		return x
	case bool:
		return row.BoolOf(x)
	case string:
		return row.TextOf(x)
	case json.Number:
		v, err := row.ParseDecimal(x.String())
		if err != nil {
			return f.fail(at, "%s", err)
		}
		if n, scale, ok := v.Unscaled(); ok && scale == 0 {
			return row.IntOf(n)
		}
		return v
	}
	text, err := json.Marshal(x)
	if err != nil || !f.spend(len(text), at) {
		return f.fail(at, "no JSON")
	}
	return row.JSONOf(string(text))
}

// values returns the operand, a list or an array in a tree, as a list. The list is nil for NULL.
func (o operand) values() func(*frame) []row.Value {
	if o.shape == list {
		return o.list
	}
	get, at := o.treeOf(), o.offset
	return func(f *frame) []row.Value {
		x := get(f)
		if x == nil {
			return nil
		}
		array, ok := x.([]any)
		if !ok {
			f.fail(at, "the value is no array")
			return nil
		}
		if !f.spend(len(array)*valueSize, at) {
			return nil
		}
		values := make([]row.Value, len(array))
		for i, item := range array {
			values[i] = fromTree(f, item, at)
		}
		return values
	}
}

package condition

import (
	"cmp"
	"fmt"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// verdicts holds the results of a comparison for the three results of row.Compare: -1, 0 and +1.
type verdicts [3]truth

var operators = map[string]verdicts{
	"==": {no, yes, no},
	"!=": {yes, no, yes},
	"<":  {yes, no, no},
	"<=": {yes, yes, no},
	">":  {no, no, yes},
	">=": {no, yes, yes},
}

// mirrored returns the verdicts of the operator with its sides swapped.
func (v verdicts) mirrored() verdicts { return verdicts{v[2], v[1], v[0]} }

func (c operatorCompiler) comparison(n *ast.BinaryNode) operand {
	l, r := c.compile(n.Left), c.compile(n.Right)
	at := n.Location().From
	if l.bad || r.bad {
		return broken(at)
	}
	if (l.isNil || r.isNil) && (n.Operator == "==" || n.Operator == "!=") {
		return c.isNull(n, l, r)
	}
	if l.isNil || r.isNil {
		c.fail(at, CodeType, n.Operator+" with nil is never true", "test for NULL with == nil or != nil")
		return broken(at)
	}
	if l.shape == list || r.shape == list || !comparableKinds(l.kind, r.kind) {
		c.fail(at, CodeType, fmt.Sprintf("%s and %s do not compare", describe(l), describe(r)), cmp.Or(flagHint(n, l, r), orderHint(n, l, r), comparisonHint(l, r)))
		return broken(at)
	}
	l, r = l.beside(r), r.beside(l)
	verdict := operators[n.Operator]
	cond := fastCompare(l, r, verdict, at)
	if cond == nil {
		cond = compareAny(l, r, verdict, at)
	}
	return c.fold(condOp(at, cond), l, r)
}

// beside returns the operand for a comparison with other. A literal is a float beside a float, and exact otherwise.
func (o operand) beside(other operand) operand {
	if other.kind == row.Float && !other.literal {
		return o.plain()
	}
	return o.exact()
}

func comparableKinds(a, b row.Kind) bool {
	if a == rowKind || b == rowKind {
		return false
	}
	return a == b || a == row.Null || b == row.Null || a == row.JSON || b == row.JSON ||
		a.IsNumber() && b.IsNumber() || isInstant(a) && isInstant(b)
}

func comparisonHint(l, r operand) string {
	for _, pair := range [][2]operand{{l, r}, {r, l}} {
		a, b := pair[0], pair[1]
		switch {
		case isInstant(a.kind) && b.kind == row.Text:
			return `write date("2026-06-01") for a time`
		case a.kind == row.Duration && (b.kind == row.Text || b.kind.IsNumber()):
			return `write duration("90m") for a duration`
		case a.kind.IsNumber() && b.kind == row.Text && b.constant:
			return "write the number without quotes"
		case a.kind == row.Text && b.kind.IsNumber() && b.constant:
			return "write the text in quotes"
		case b.kind == row.Bool:
			return "the operator not is applied before a comparison: write not (a == b)"
		}
	}
	return ""
}

// isNull compiles == nil and != nil, the tests for NULL. Other comparisons with nil are never true.
func (c operatorCompiler) isNull(n *ast.BinaryNode, l, r operand) operand {
	x := l
	if l.isNil {
		x = r
	}
	at := n.Location().From
	isNil := n.Operator == "=="
	if x.shape == list || x.shape == records {
		c.fail(at, CodeType, "a list is never NULL", "")
		return broken(at)
	}
	if x.shape == record {
		return condOp(at, func(f *frame) truth { return toTruth((x.rec(f) == nil) == isNil) })
	}
	if x.column >= 0 {
		i := x.column
		return condOp(at, func(f *frame) truth { return toTruth(f.row.Values[i].IsNull() == isNil) })
	}
	val := x.val
	return c.fold(condOp(at, func(f *frame) truth { return toTruth(val(f).IsNull() == isNil) }), x)
}

func compareAny(l, r operand, verdict verdicts, at int) func(*frame) truth {
	left, right := l.val, r.val
	slow := func(f *frame) truth {
		a := left(f)
		return verdict.of(f, a, right(f), at)
	}
	if l.small != nil && r.small != nil {
		return compareSmall(l.small, r.small, verdict, slow)
	}
	return slow
}

// of compares two values of any kind, at the offset of the comparison. It fails for values that do not compare. Such values come from JSON, or from a
// database that does not enforce the types of its columns.
func (v verdicts) of(f *frame, a, b row.Value, at int) truth {
	if a.IsNull() || b.IsNull() {
		return unknown
	}
	if a.Kind() == row.Text && !f.read(a.Text(), at) {
		return unknown
	}
	order, err := row.Compare(a, b)
	if err != nil {
		f.fail(at, "%s", err)
		return unknown
	}
	return v[order+1]
}

// array compiles a list such as [1, 2].
func (c operatorCompiler) array(n *ast.ArrayNode) operand {
	at := n.Location().From
	items := make([]operand, len(n.Nodes))
	bad := false
	for i, node := range n.Nodes {
		items[i] = c.compile(node)
		if items[i].shape == list && !items[i].bad {
			items[i] = c.unsupported(items[i].offset, "a list cannot hold a list", "")
		}
		bad = bad || items[i].bad
	}
	if bad {
		return broken(at)
	}
	u, ok := c.unify(at, "the elements of the list", items...)
	if !ok {
		return broken(at)
	}
	o := listOf(at, u)
	o.items = items
	return o
}

// listOf makes a list of the operands.
func listOf(at int, u commonOperands) operand {
	return operand{shape: list, kind: u.kind, offset: at, column: -1, list: func(f *frame) []row.Value {
		if !f.spend(len(u.parts)*valueSize, at) {
			return nil
		}
		values := make([]row.Value, len(u.parts))
		for i, p := range u.parts {
			values[i] = p.val(f)
		}
		return values
	}}
}

// valueSize is roughly the size of an element of a list, in bytes.
const valueSize = 64

// in compiles membership in a list with the logic of SQL: true where an element is equal, else NULL where an element is
// NULL, else false.
func (c operatorCompiler) in(n *ast.BinaryNode) operand {
	if r, ok := n.Right.(*ast.BinaryNode); ok && r.Operator == ".." {
		return c.inRange(n, r)
	}
	x, set := c.compile(n.Left), c.compile(n.Right)
	at := n.Location().From
	if x.bad || set.bad {
		return broken(at)
	}
	if set.shape != list && set.kind != row.JSON {
		c.fail(set.offset, CodeType, "in needs a list, here it has "+describe(set), "write x in [a, b]; for a part of a text: contains")
		return broken(at)
	}
	if x.shape == list || x.kind == rowKind || set.shape == list && !comparableKinds(x.kind, set.kind) {
		c.fail(at, CodeType, fmt.Sprintf("%s cannot be in a list of %s", describe(x), describe(set.element())), comparisonHint(x, set))
		return broken(at)
	}
	if set.items != nil {
		return c.inItems(at, x, set.items)
	}
	val, values := x.exact().val, set.values()
	return condOp(at, func(f *frame) truth {
		v := val(f)
		all := values(f)
		if !f.step(len(all), at) {
			return unknown
		}
		return inValues(f, v, all, at)
	})
}

func inValues(f *frame, v row.Value, values []row.Value, at int) truth {
	if values == nil {
		return unknown // the whole list is NULL
	}
	result := no
	for _, item := range values {
		if equal := operators["=="].of(f, v, item, at); equal == yes {
			return yes
		} else if equal == unknown {
			result = unknown
		}
	}
	return result
}

// inItems compiles membership in a list such as [1, 2] as one comparison for each item. Many constant texts or ints
// become one lookup in a map.
func (c operatorCompiler) inItems(at int, x operand, items []operand) operand {
	if set := lookup(x, items); set != nil {
		return c.fold(condOp(at, set), x)
	}
	equals := make([]func(*frame) truth, len(items))
	for i, item := range items {
		l, r := x.beside(item), item.beside(x)
		if equals[i] = fastCompare(l, r, operators["=="], at); equals[i] == nil {
			equals[i] = compareAny(l, r, operators["=="], at)
		}
	}
	return c.fold(condOp(at, func(f *frame) truth {
		result := no
		for _, equal := range equals {
			if t := equal(f); t == yes {
				return yes
			} else if t == unknown {
				result = unknown
			}
		}
		return result
	}), append([]operand{x}, items...)...)
}

// lookup compiles membership among constants of one kind as a lookup in a map. It returns nil where there are only few
// items, or items of other kinds.
func lookup(x operand, items []operand) func(*frame) truth {
	const few = 8
	if len(items) < few || x.kind != row.Text && x.kind != row.Int {
		return nil
	}
	texts, ints := map[string]struct{}{}, map[int64]struct{}{}
	for _, item := range items {
		if !item.constant || item.kind != x.kind {
			return nil
		}
		texts[item.value.Text()] = struct{}{}
		ints[item.value.Int()] = struct{}{}
	}
	val, kind := x.val, x.kind
	return func(f *frame) truth {
		v := val(f)
		switch v.Kind() {
		case row.Null:
			return unknown
		case kind:
			_, inTexts := texts[v.Text()]
			_, inInts := ints[v.Int()]
			return toTruth(kind == row.Text && inTexts || kind == row.Int && inInts)
		default:
			f.fail(x.offset, "%s and %s do not compare", v.Kind(), kind)
			return unknown
		}
	}
}

// inRange compiles x in a..b, which is true for a whole number from a to b. It compares the bounds and builds no list.
func (c operatorCompiler) inRange(n, r *ast.BinaryNode) operand {
	x, low, high := c.compile(n.Left), c.compile(r.Left), c.compile(r.Right)
	at := n.Location().From
	if x.bad || low.bad || high.bad {
		return broken(at)
	}
	for _, bound := range []operand{low, high} {
		if bound.shape == list || bound.kind != row.Int && bound.kind != row.Null {
			c.fail(bound.offset, CodeType, "a range goes from int to int, here it has "+describe(bound), "write low <= x and x <= high")
			return broken(at)
		}
	}
	if x.shape == list || !x.kind.IsNumber() && x.kind != row.Null && x.kind != row.JSON {
		c.fail(x.offset, CodeType, describe(x)+" cannot be in a range of numbers", "")
		return broken(at)
	}
	x = x.exact()
	val, from, to := x.val, low.val, high.val
	atLeast, atMost := operators[">="], operators["<="]
	return c.fold(condOp(at, func(f *frame) truth {
		v := val(f)
		a, b := atLeast.of(f, v, from(f), at), atMost.of(f, v, to(f), at)
		switch {
		case a == no || b == no:
			return no
		case a == unknown || b == unknown:
			return unknown
		}
		return toTruth(isWhole(v))
	}), x, low, high)
}

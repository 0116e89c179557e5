package condition

import (
	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// truth is a value of SQL's three-valued logic.
type truth uint8

const (
	no truth = iota
	yes
	unknown // NULL
)

func truthOf(v row.Value) truth {
	switch {
	case v.IsNull():
		return unknown
	case v.Bool():
		return yes
	}
	return no
}

func toTruth(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (t truth) value() row.Value {
	if t == unknown {
		return row.Value{}
	}
	return row.BoolOf(t == yes)
}

func (c operatorCompiler) not(n *ast.UnaryNode) operand {
	x := c.compile(n.Node)
	if x.bad {
		return x
	}
	at := n.Location().From
	if !isBool(x) {
		c.fail(at, CodeType, "not needs a bool, here it has "+describe(x),
			"the operator not is applied before a comparison: write not (a == b)")
		return broken(at)
	}
	cond := x.truth()
	return c.fold(condOp(at, func(f *frame) truth {
		switch cond(f) {
		case no:
			return yes
		case yes:
			return no
		default:
			return unknown
		}
	}), x)
}

// logic compiles `and` and `or`. One value is the strong one: false for `and`, true for `or`. Where one side has the
// strong value, that is the result, whatever the other side is.
func (c operatorCompiler) logic(n *ast.BinaryNode, and bool) operand {
	l, r := c.compile(n.Left), c.compile(n.Right)
	at := n.Location().From
	for _, x := range []operand{l, r} {
		if !x.bad && !isBool(x) {
			c.fail(x.offset, CodeType, n.Operator+" needs bools, here it has "+describe(x), "")
			x.bad = true
		}
	}
	if l.bad || r.bad || !isBool(l) || !isBool(r) {
		return broken(at)
	}
	left, right := l.truth(), r.truth()
	strong := no
	if !and {
		strong = yes
	}
	return c.fold(condOp(at, func(f *frame) truth {
		a := left(f)
		if a == strong || f.err != nil {
			return a
		}
		b := right(f)
		if a == unknown && b != strong {
			return unknown
		}
		return b
	}), l, r)
}

// conditional compiles test ? a : b. A test that is NULL takes b, as CASE in SQL does.
func (c operatorCompiler) conditional(n *ast.ConditionalNode) operand {
	test, a, b := c.compile(n.Cond), c.compile(n.Exp1), c.compile(n.Exp2)
	at := test.offset
	if !test.bad && !isBool(test) {
		c.fail(at, CodeType, "the test before ? needs a bool, here it has "+describe(test), "")
		return broken(at)
	}
	if test.bad || a.bad || b.bad {
		return broken(at)
	}
	both, ok := c.unify(at, "the two branches", a, b)
	if !ok {
		return broken(at)
	}
	a, b = both.parts[0], both.parts[1]
	cond, x, y := test.truth(), a.val, b.val
	return c.fold(valueOp(both.kind, at, func(f *frame) row.Value {
		if cond(f) == yes {
			return x(f)
		}
		return y(f)
	}), test, a, b)
}

// coalesce compiles ??.
func (c operatorCompiler) coalesce(n *ast.BinaryNode) operand {
	a, b := c.compile(n.Left), c.compile(n.Right)
	at := n.Location().From
	if a.bad || b.bad {
		return broken(at)
	}
	both, ok := c.unify(at, "the two sides of ??", a, b)
	if !ok {
		return broken(at)
	}
	a, b = both.parts[0], both.parts[1]
	x, y := a.val, b.val
	return c.fold(valueOp(both.kind, at, func(f *frame) row.Value {
		if v := x(f); !v.IsNull() || f.err != nil {
			return v
		}
		return y(f)
	}), a, b)
}

func isBool(o operand) bool {
	return o.shape != list && (o.kind == row.Bool || o.kind == row.Null || o.kind == row.JSON)
}

// describe names an operand for a message.
func describe(o operand) string {
	switch {
	case o.isNil:
		return "nil"
	case o.shape == list:
		return "a list"
	case o.shape == record:
		return "a row"
	case o.shape == records:
		return "a list of rows"
	}
	return o.kind.String()
}

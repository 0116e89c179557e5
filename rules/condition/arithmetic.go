package condition

import (
	"fmt"
	"math"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// arithmetic compiles + - * / % and **.
func (c operatorCompiler) arithmetic(n *ast.BinaryNode) operand {
	l, r := c.compile(n.Left), c.compile(n.Right)
	at := n.Location().From
	if l.bad || r.bad {
		return broken(at)
	}
	if l.shape == list || r.shape == list {
		return c.misfit(n, l, r)
	}
	switch op := n.Operator; {
	case op == "**" || op == "^":
		return c.power(n, l, r)
	case isNumeric(l) && isNumeric(r) && len(op) == 1:
		return c.numeric(n, l, r)
	case op == "+" && isText(l) && isText(r):
		return c.concat(at, l, r)
	}
	kind, calc := timeArithmetic(n.Operator, l.kind, r.kind)
	if calc == nil {
		return c.misfit(n, l, r)
	}
	left, right := l.plain().val, r.plain().val
	return c.fold(valueOp(kind, at, func(f *frame) row.Value {
		a := left(f)
		b := right(f)
		if a.IsNull() || b.IsNull() {
			return row.Value{}
		}
		return calc(f, a, b, at)
	}), l, r)
}

func (c operatorCompiler) misfit(n *ast.BinaryNode, l, r operand) operand {
	hint := ""
	switch {
	case n.Operator == "+" && (isText(l) || isText(r)):
		hint = "make a text of the other side with string(…)"
	case l.kind == row.JSON || r.kind == row.JSON:
		hint = "say what it is with int(…), float(…) or string(…)"
	}
	c.fail(n.Location().From, CodeType, fmt.Sprintf("%s cannot take %s and %s", n.Operator, describe(l), describe(r)), hint)
	return broken(n.Location().From)
}

func isNumeric(o operand) bool {
	return o.shape != list && (o.kind.IsNumber() || o.kind == row.Null || o.kind == row.JSON)
}

func isText(o operand) bool {
	return o.shape != list && (o.kind == row.Text || o.kind == row.Null)
}

func (c operatorCompiler) numeric(n *ast.BinaryNode, l, r operand) operand {
	at, op := n.Location().From, n.Operator[0]
	if op == '%' && (l.plain().kind == row.Float && r.kind != row.Decimal || r.plain().kind == row.Float && l.kind != row.Decimal) {
		c.fail(at, CodeType, "% is for ints and decimals", "")
		return broken(at)
	}
	if l.literal && r.literal {
		return c.literals(op, l, r, at)
	}
	kind := numericKind(op, l, r)
	if kind == row.Decimal || kind == row.JSON {
		l, r = l.exact(), r.exact()
	} else {
		l, r = l.plain(), r.plain()
	}
	left, right := l.val, r.val
	o := valueOp(kind, at, func(f *frame) row.Value {
		a := left(f)
		b := right(f)
		if a.IsNull() || b.IsNull() {
			return row.Value{}
		}
		if kind == row.JSON && (!a.Kind().IsNumber() || !b.Kind().IsNumber()) {
			return f.fail(at, "%c cannot take %s and %s", op, a.Kind(), b.Kind())
		}
		return calculate(f, op, a, b, at)
	})
	o.small = smallCalculation(op, l.small, r.small)
	return c.fold(o, l, r)
}

// numericKind returns the kind of the result that calculate gives for operands of these kinds.
func numericKind(op byte, l, r operand) row.Kind {
	float := func(o, other operand) bool {
		return o.kind == row.Float && (!o.literal || other.kind != row.Decimal)
	}
	switch {
	case l.kind == row.JSON || r.kind == row.JSON:
		return row.JSON
	case float(l, r) || float(r, l):
		return row.Float
	case l.kind == row.Decimal || r.kind == row.Decimal:
		return row.Decimal
	case op == '/':
		return row.Float
	}
	return row.Int
}

// literals calculates with the exact values of two literals, so that 0.1 + 0.2 is 0.3.
func (c operatorCompiler) literals(op byte, l, r operand, at int) operand {
	f := frame{most: &rowBounds}
	var v row.Value
	if l.kind == row.Int && r.kind == row.Int && op != '/' {
		v = calculateInts(&f, op, l.value.Int(), r.value.Int(), at)
	} else {
		v = calculateDecimals(&f, op, decimalOf(l.value), decimalOf(r.value), at)
	}
	if f.err != nil {
		c.fail(at, CodeType, f.err.Error(), "")
		return broken(at)
	}
	return literalOf(v, at)
}

// power compiles ** and ^. The result is a float, as in expr.
func (c operatorCompiler) power(n *ast.BinaryNode, l, r operand) operand {
	at := n.Location().From
	if !isNumeric(l) || !isNumeric(r) {
		return c.misfit(n, l, r)
	}
	if l.kind == row.Decimal || r.kind == row.Decimal {
		c.fail(at, CodeDecimal, n.Operator+" is not exact for decimals", "multiply instead")
		return broken(at)
	}
	left, right := l.plain().val, r.plain().val
	return c.fold(valueOp(row.Float, at, func(f *frame) row.Value {
		a := left(f)
		b := right(f)
		if a.IsNull() || b.IsNull() {
			return row.Value{}
		}
		if !a.Kind().IsNumber() || !b.Kind().IsNumber() {
			return f.fail(at, "%s cannot take %s and %s", n.Operator, a.Kind(), b.Kind())
		}
		return row.FloatOf(math.Pow(floatOf(a), floatOf(b)))
	}), l, r)
}

// signed compiles a + or - before an operand.
func (c operatorCompiler) signed(n *ast.UnaryNode) operand {
	x := c.compile(n.Node)
	at := n.Location().From
	switch {
	case x.bad:
		return x
	case !isNumeric(x) && (x.shape == list || x.kind != row.Duration):
		c.fail(at, CodeType, n.Operator+" needs a number, here it has "+describe(x), "")
		return broken(at)
	case n.Operator == "+":
		x.offset, x.column = at, -1
		return x
	}
	if x.literal {
		f := frame{most: &rowBounds}
		v := negate(&f, x.value, at)
		if f.err != nil {
			c.fail(at, CodeType, f.err.Error(), "")
			return broken(at)
		}
		return literalOf(v, at)
	}
	val := x.val
	return c.fold(valueOp(x.kind, at, func(f *frame) row.Value { return negate(f, val(f), at) }), x)
}

func negate(f *frame, v row.Value, at int) row.Value {
	switch v.Kind() {
	case row.Int:
		return calculateInts(f, '-', 0, v.Int(), at)
	case row.Float:
		return row.FloatOf(-v.Float())
	case row.Decimal:
		return calculateDecimals(f, '-', row.IntOf(0), v, at)
	case row.Duration:
		n, ok := sub64(0, int64(v.Duration()))
		return duration(f, n, ok, at)
	case row.Null:
		return v
	default:
		return f.fail(at, "- needs a number, here it has %s", v.Kind())
	}
}

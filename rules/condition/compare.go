package condition

import (
	"fmt"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// verdicts holds what an operator makes of row.Compare's -1, 0 and +1.
type verdicts [3]truth

var operators = map[string]verdicts{
	"==": {no, yes, no},
	"!=": {yes, no, yes},
	"<":  {yes, no, no},
	"<=": {yes, yes, no},
	">":  {no, no, yes},
	">=": {no, yes, yes},
}

// mirrored swaps the sides of an operator.
func (v verdicts) mirrored() verdicts { return verdicts{v[2], v[1], v[0]} }

func (c *compiler) comparison(n *ast.BinaryNode) operand {
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
		c.fail(at, CodeType, fmt.Sprintf("%s and %s do not compare", describe(l), describe(r)), comparisonHint(l, r))
		return broken(at)
	}
	l, r = l.beside(r), r.beside(l)
	verdict := operators[n.Operator]
	cond := fastCompare(l, r, verdict)
	if cond == nil {
		cond = compareAny(l, r, verdict)
	}
	return c.fold(condOp(at, cond), l, r)
}

// beside reads a literal as the other side has it: a float beside a float, else exactly.
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
			return "not binds tighter than comparisons: write not (a == b)"
		}
	}
	return ""
}

// isNull compiles the test for NULL, the one comparison with nil that has an answer.
func (c *compiler) isNull(n *ast.BinaryNode, l, r operand) operand {
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

func compareAny(l, r operand, verdict verdicts) func(*frame) truth {
	left, right := l.val, r.val
	slow := func(f *frame) truth {
		a := left(f)
		return verdict.of(f, a, right(f))
	}
	if l.small != nil && r.small != nil {
		return compareSmall(l.small, r.small, verdict, slow)
	}
	return slow
}

// of compares two values of any kind. Values that do not compare come out of JSON, or of a database that
// does not hold to the kinds of its columns.
func (v verdicts) of(f *frame, a, b row.Value) truth {
	if a.IsNull() || b.IsNull() {
		return unknown
	}
	if a.Kind() == row.Text && !f.read(a.Text(), 0) {
		return unknown
	}
	order, err := row.Compare(a, b)
	if err != nil {
		f.fail(0, "%s", err)
		return unknown
	}
	return v[order+1]
}

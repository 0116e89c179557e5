package condition

import (
	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// loop is a predicate over a list, compiled.
type loop struct {
	over operand                                     // the list
	body operand                                     // the predicate
	each func(f *frame, visit func(i int) bool) bool // evaluates visit for every element until it is false; false where the list is NULL
	item func(f *frame) row.Value                    // the element that is looked at, of a list of values
}

// predicateFunctions are the builtins that look at the elements of a list. In their second argument # is the
// element, .name a column (or member) of it.
var predicateFunctions = map[string]func(c *compiler, at int, l loop) operand{
	"any":      func(_ *compiler, at int, l loop) operand { return condOp(at, l.any()) },
	"all":      func(_ *compiler, at int, l loop) operand { return condOp(at, l.all()) },
	"none":     func(_ *compiler, at int, l loop) operand { return condOp(at, l.none()) },
	"one":      func(_ *compiler, at int, l loop) operand { return condOp(at, l.one()) },
	"count":    func(_ *compiler, at int, l loop) operand { return l.count(at) },
	"filter":   func(_ *compiler, at int, l loop) operand { return l.filter(at) },
	"find":     func(_ *compiler, at int, l loop) operand { return l.find(at, false) },
	"findLast": func(_ *compiler, at int, l loop) operand { return l.find(at, true) },
	"map":      (*compiler).mapping,
	"sum":      (*compiler).total,
}

// predicate compiles the call of one of predicateFunctions.
func (c *compiler) predicate(n *ast.BuiltinNode) operand {
	at := n.Location().From
	p, ok := n.Arguments[1].(*ast.PredicateNode)
	if !ok {
		return c.unsupported(at, n.Name+"() takes a list and a predicate", "")
	}
	x := c.compile(n.Arguments[0])
	if x.bad {
		return broken(at)
	}
	if x.shape != list && x.shape != records && x.kind != row.JSON {
		c.fail(x.offset, CodeType, n.Name+"() needs a list, here it has "+describe(x), "")
		return broken(at)
	}
	l, ok := c.loop(at, x, p)
	if !ok {
		return broken(at)
	}
	if n.Name != "map" && n.Name != "sum" && !isBool(l.body) {
		c.fail(l.body.offset, CodeType, n.Name+"() needs a predicate that gives a bool, here it has "+describe(l.body), "compare it, as in .qty < 0")
		return broken(at)
	}
	return predicateFunctions[n.Name](c, at, l)
}

// loop compiles a predicate over x. An evaluation of it costs as many steps as it has parts.
func (c *compiler) loop(at int, x operand, p *ast.PredicateNode) (loop, bool) {
	before := c.parts
	l := loop{over: x}
	if x.shape == records {
		c.elements = append(c.elements, operand{shape: record, kind: rowKind, column: -1, current: true, rec: func(f *frame) *row.Row { return f.row }})
	} else {
		c.elements = append(c.elements, c.slot(operand{kind: x.kind}))
	}
	element := c.elements[len(c.elements)-1]
	l.body = c.compile(p.Node)
	c.elements = c.elements[:len(c.elements)-1]
	if l.body.bad {
		return l, false
	}
	cost := c.parts - before + 1
	if x.shape == records {
		l.each = eachRow(x.rows, cost, at)
	} else {
		l.item = element.val
		l.each = eachValue(x.values(), element.slot, cost, at)
	}
	return l, true
}

func eachRow(rows func(*frame) []*row.Row, cost, at int) func(*frame, func(int) bool) bool {
	return func(f *frame, visit func(int) bool) bool {
		around := f.row
		for i, r := range rows(f) {
			f.row = r
			if !f.step(cost, at) || !visit(i) || f.err != nil {
				break
			}
		}
		f.row = around
		return true
	}
}

func eachValue(values func(*frame) []row.Value, slot, cost, at int) func(*frame, func(int) bool) bool {
	return func(f *frame, visit func(int) bool) bool {
		all := values(f)
		for i, v := range all {
			f.slots[slot].val = v
			if !f.step(cost, at) || !visit(i) || f.err != nil {
				break
			}
		}
		return all != nil
	}
}

// pointer compiles #.
func (c *compiler) pointer(n *ast.PointerNode) operand {
	at := n.Location().From
	if n.Name != "" {
		return c.unsupported(at, "#"+n.Name+" has no use in a condition", "")
	}
	if len(c.elements) == 0 {
		return c.unsupported(at, "# stands inside a predicate only", "as in any(rows, #.qty < 0)")
	}
	element := c.elements[len(c.elements)-1]
	element.offset = at
	return element
}

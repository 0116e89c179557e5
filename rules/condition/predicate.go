package condition

import (
	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// loop is a compiled predicate over a list.
type loop struct {
	over operand // The list.
	body operand // The predicate.
	// each calls visit for every element until visit returns false. It returns false where the list is NULL.
	each func(f *frame, visit func(i int) bool) bool
	item func(f *frame) row.Value // For a list of values: the element that each visits now.
}

// predicateFunctions are the builtins that look at each element of a list. In their second argument, # is the element
// and .name is its column or member.
var predicateFunctions = map[string]func(c memberCompiler, at int, l loop) operand{
	"any":      func(_ memberCompiler, at int, l loop) operand { return condOp(at, l.any()) },
	"all":      func(_ memberCompiler, at int, l loop) operand { return condOp(at, l.all()) },
	"none":     func(_ memberCompiler, at int, l loop) operand { return condOp(at, l.none()) },
	"one":      func(_ memberCompiler, at int, l loop) operand { return condOp(at, l.one()) },
	"count":    func(_ memberCompiler, at int, l loop) operand { return l.count(at) },
	"filter":   func(_ memberCompiler, at int, l loop) operand { return l.filter(at) },
	"find":     func(_ memberCompiler, at int, l loop) operand { return l.find(at, false) },
	"findLast": func(_ memberCompiler, at int, l loop) operand { return l.find(at, true) },
	"map":      memberCompiler.mapping,
	"sum":      memberCompiler.total,
}

// predicate compiles the call of one of predicateFunctions.
func (c memberCompiler) predicate(n *ast.BuiltinNode) operand {
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

// loop compiles a predicate over x. Each evaluation of the predicate counts as many steps as it has parts.
func (c memberCompiler) loop(at int, x operand, p *ast.PredicateNode) (loop, bool) {
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
func (c memberCompiler) pointer(n *ast.PointerNode) operand {
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

// seek compiles any (sought is yes) and all (sought is no). An element with the sought value decides the result.
// Without one, the result is NULL where the predicate is NULL for an element, and the opposite value otherwise.
func (l loop) seek(sought truth) func(*frame) truth {
	cond := l.body.truth()
	return func(f *frame) truth {
		result := yes
		if sought == yes {
			result = no
		}
		known := l.each(f, func(int) bool {
			t := cond(f)
			if t == sought || t == unknown {
				result = t
			}
			return t != sought
		})
		if !known {
			return unknown
		}
		return result
	}
}

func (l loop) any() func(*frame) truth { return l.seek(yes) }

func (l loop) all() func(*frame) truth { return l.seek(no) }

func (l loop) none() func(*frame) truth {
	found := l.any()
	return func(f *frame) truth {
		switch found(f) {
		case yes:
			return no
		case no:
			return yes
		default:
			return unknown
		}
	}
}

// one compiles one, which is true where exactly one element meets the predicate. It is NULL where at most one element
// meets the predicate and the predicate is NULL for some element.
func (l loop) one() func(*frame) truth {
	cond := l.body.truth()
	return func(f *frame) truth {
		met, open := 0, false
		known := l.each(f, func(int) bool {
			switch cond(f) {
			case yes:
				met++
			case unknown:
				open = true
			case no:
			}
			return met < 2
		})
		switch {
		case met > 1:
			return no
		case open || !known:
			return unknown
		}
		return toTruth(met == 1)
	}
}

func (l loop) count(at int) operand {
	cond := l.body.truth()
	return valueOp(row.Int, at, func(f *frame) row.Value {
		n := int64(0)
		known := l.each(f, func(int) bool {
			if cond(f) == yes {
				n++
			}
			return true
		})
		if !known {
			return row.Value{}
		}
		return row.IntOf(n)
	})
}

// filter compiles filter, which keeps the elements that meet the predicate.
func (l loop) filter(at int) operand {
	cond := l.body.truth()
	if l.over.shape == records {
		return operand{shape: records, kind: rowKind, offset: at, column: -1, rows: func(f *frame) []*row.Row {
			var kept []*row.Row
			l.each(f, func(int) bool {
				if cond(f) == yes {
					kept = append(kept, f.row)
				}
				return f.spend(8, at)
			})
			return kept
		}}
	}
	return operand{shape: list, kind: l.over.kind, offset: at, column: -1, list: func(f *frame) []row.Value {
		kept := []row.Value{}
		known := l.each(f, func(int) bool {
			if cond(f) == yes {
				kept = append(kept, l.item(f))
			}
			return f.spend(valueSize, at)
		})
		if !known {
			return nil
		}
		return kept
	}}
}

// find compiles find and findLast: the first or the last element that meets the predicate.
func (l loop) find(at int, last bool) operand {
	cond := l.body.truth()
	if l.over.shape == records {
		return operand{shape: record, kind: rowKind, offset: at, column: -1, rec: func(f *frame) *row.Row {
			var found *row.Row
			l.each(f, func(int) bool {
				if cond(f) == yes {
					found = f.row
				}
				return last || found == nil
			})
			return found
		}}
	}
	return valueOp(l.over.kind, at, func(f *frame) row.Value {
		var found row.Value
		l.each(f, func(int) bool {
			met := cond(f) == yes
			if met {
				found = l.item(f)
			}
			return last || !met
		})
		return found
	})
}

// mapping compiles map: the list of the body's values for all elements.
func (c memberCompiler) mapping(at int, l loop) operand {
	if l.body.shape == list || l.body.kind == rowKind {
		hint := ""
		if l.body.shape == record {
			hint = "take a column, as in map(rows, ." + c.anyColumn() + ")"
		}
		c.fail(l.body.offset, CodeType, "map() makes a list of values, here it has "+describe(l.body), hint)
		return broken(at)
	}
	body := l.body.plain()
	val := body.val
	return operand{shape: list, kind: body.kind, offset: at, column: -1, list: func(f *frame) []row.Value {
		made := []row.Value{}
		known := l.each(f, func(int) bool {
			made = append(made, val(f))
			return f.spend(valueSize, at)
		})
		if !known {
			return nil
		}
		return made
	}}
}

// total compiles sum with a body: the sum of the body's values. It is NULL where one value is NULL, and for an empty
// list.
func (c memberCompiler) total(at int, l loop) operand {
	if !isNumeric(l.body) {
		hint := ""
		if l.body.kind == rowKind {
			hint = c.rowsHint(l.body)
		}
		c.fail(l.body.offset, CodeType, "sum() needs numbers, here it has "+describe(l.body), hint)
		return broken(at)
	}
	body := l.body.plain()
	val := body.val
	return valueOp(body.kind, at, func(f *frame) row.Value {
		var sum row.Value
		l.each(f, func(int) bool {
			v := val(f)
			switch {
			case v.IsNull():
				sum = v
				return false
			case !v.Kind().IsNumber():
				f.fail(at, "sum() needs numbers, here it has %s", v.Kind())
				return false
			case sum.IsNull():
				sum = v
			default:
				sum = calculate(f, '+', sum, v, at)
			}
			return true
		})
		return sum
	})
}

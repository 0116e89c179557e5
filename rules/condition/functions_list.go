package condition

import (
	"strings"

	"tallyman/rules/row"
)

// listFunctions make or read lists.
var listFunctions = map[string]function{
	"min": {params: "a*", exact: true, compile: func(c *compiler, at int, a []operand) operand {
		return c.extreme(at, a, operators["<"])
	}},
	"max": {params: "a*", exact: true, compile: func(c *compiler, at int, a []operand) operand {
		return c.extreme(at, a, operators[">"])
	}},
	"sum":        {params: "n", exact: true, compile: (*compiler).sum},
	"first":      {params: "r", exact: true, compile: func(c *compiler, at int, a []operand) operand { return c.at(at, a[0], 0) }},
	"last":       {params: "r", exact: true, compile: func(c *compiler, at int, a []operand) operand { return c.at(at, a[0], -1) }},
	"get":        {params: "xx", compile: func(c *compiler, at int, a []operand) operand { return c.element(at, a[0], a[1]) }},
	"split":      splitting(strings.SplitN),
	"splitAfter": splitting(strings.SplitAfterN),
	"join":       {params: "l?t", compile: (*compiler).join},
	"fromJSON":   {params: "t", compile: (*compiler).fromJSON},
}

func (c *compiler) at(at int, x operand, i int64) operand {
	return c.element(at, x, constOp(row.IntOf(i), at))
}

// extreme compiles min and max: the verdict tells which of two values to keep.
func (c *compiler) extreme(at int, args []operand, better verdicts) operand {
	return c.reduce(at, args, func(f *frame, best, v row.Value) row.Value {
		if better.of(f, v, best) == yes {
			return v
		}
		return best
	})
}

func (c *compiler) sum(at int, args []operand) operand {
	if args[0].shape != list && args[0].kind != row.JSON {
		c.fail(args[0].offset, CodeType, "sum() needs a list, here it has "+describe(args[0]), "write sum([a, b]), or add with +")
		return broken(at)
	}
	return c.reduce(at, args, func(f *frame, total, v row.Value) row.Value {
		if !total.Kind().IsNumber() || !v.Kind().IsNumber() {
			return f.fail(at, "sum() of %s and %s", total.Kind(), v.Kind())
		}
		return calculate(f, '+', total, v, at)
	})
}

// reduce combines the arguments, or the elements of the list that is the only one. A NULL among them makes
// it NULL; of nothing it is NULL.
func (c *compiler) reduce(at int, args []operand, step func(f *frame, sofar, v row.Value) row.Value) operand {
	if len(args) == 1 && args[0].items != nil {
		args = args[0].items
	}
	if len(args) == 1 && (args[0].shape == list || args[0].kind == row.JSON) {
		values := args[0].values()
		return valueOp(args[0].kind, at, func(f *frame) row.Value {
			var sofar row.Value
			all := values(f)
			if !f.step(len(all), at) {
				return row.Value{}
			}
			for i, v := range all {
				switch {
				case v.IsNull():
					return row.Value{}
				case i == 0:
					sofar = v
				default:
					sofar = step(f, sofar, v)
				}
			}
			return sofar
		})
	}
	u, ok := c.unify(at, "the arguments", args...)
	if !ok {
		return broken(at)
	}
	return c.fold(valueOp(u.kind, at, func(f *frame) row.Value {
		var sofar row.Value
		for i, p := range u.parts {
			v := p.val(f)
			switch {
			case v.IsNull():
				return row.Value{}
			case i == 0:
				sofar = v
			default:
				sofar = step(f, sofar, v)
			}
		}
		return sofar
	}), u.parts...)
}

// splitting makes the parts of a text; with a third argument at most so many.
func splitting(fn func(s, sep string, n int) []string) function {
	return function{params: "tt?i", compile: func(_ *compiler, at int, args []operand) operand {
		vals := make([]func(*frame) row.Value, len(args))
		for i, a := range args {
			vals[i] = a.val
		}
		return operand{shape: list, kind: row.Text, offset: at, column: -1, list: func(f *frame) []row.Value {
			s, sep, most := vals[0](f), vals[1](f), row.IntOf(-1)
			if len(vals) == 3 {
				most = vals[2](f)
			}
			if s.IsNull() || sep.IsNull() || most.IsNull() || !f.spend((strings.Count(s.Text(), sep.Text())+1)*valueSize, at) {
				return nil
			}
			parts := fn(s.Text(), sep.Text(), int(most.Int()))
			values := make([]row.Value, len(parts))
			for i, p := range parts {
				values[i] = row.TextOf(p)
			}
			return values
		}}
	}}
}

func (c *compiler) join(at int, args []operand) operand {
	x := args[0]
	if x.kind != row.Text && x.kind != row.Null && x.kind != row.JSON {
		c.fail(x.offset, CodeType, "join() needs a list of texts", "make texts with string(…)")
		return broken(at)
	}
	values, glue := x.values(), constOp(row.TextOf(""), at)
	if len(args) == 2 {
		glue = args[1]
	}
	return valueOp(row.Text, at, func(f *frame) row.Value {
		all, g := values(f), glue.val(f)
		if all == nil || g.IsNull() {
			return row.Value{}
		}
		texts := make([]string, len(all))
		for i, v := range all {
			if v.Kind() != row.Text {
				return f.fail(at, "join() of %s", v.Kind())
			}
			if texts[i] = v.Text(); !f.spend(len(texts[i])+len(g.Text()), at) {
				return row.Value{}
			}
		}
		return row.TextOf(strings.Join(texts, g.Text()))
	})
}

// fromJSON reads a text as JSON; its members are taken with a.b and a[0].
func (c *compiler) fromJSON(at int, args []operand) operand {
	val := args[0].val
	return treeOp(at, func(f *frame) any {
		v := val(f)
		if v.IsNull() {
			return nil
		}
		return decode(f, v.Text(), at)
	})
}

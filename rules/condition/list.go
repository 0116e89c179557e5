package condition

import (
	"math/bits"
	"slices"
	"strings"

	"tallyman/rules/row"
)

// listFunctions are the functions that make or read lists.
var listFunctions = map[string]builtinFunction{
	"min": {params: "a*", exact: true, compile: func(c functionCompiler, at int, a []operand) operand {
		return c.extreme(at, a, operators["<"])
	}},
	"max": {params: "a*", exact: true, compile: func(c functionCompiler, at int, a []operand) operand {
		return c.extreme(at, a, operators[">"])
	}},
	"sum":        {params: "n", exact: true, compile: functionCompiler.sum},
	"first":      {params: "r", exact: true, compile: func(c functionCompiler, at int, a []operand) operand { return c.at(at, a[0], 0) }},
	"last":       {params: "r", exact: true, compile: func(c functionCompiler, at int, a []operand) operand { return c.at(at, a[0], -1) }},
	"get":        {params: "xx", compile: func(c functionCompiler, at int, a []operand) operand { return c.members().element(at, a[0], a[1]) }},
	"split":      splitting(strings.SplitN),
	"splitAfter": splitting(strings.SplitAfterN),
	"join":       {params: "l?t", compile: functionCompiler.join},
	"fromJSON":   {params: "t", compile: functionCompiler.fromJSON},
}

func (c functionCompiler) at(at int, x operand, i int64) operand {
	return c.members().element(at, x, constOp(row.IntOf(i), at))
}

// extreme compiles min and max. better tells which of two values to keep.
func (c functionCompiler) extreme(at int, args []operand, better verdicts) operand {
	return c.reduce(at, args, func(f *frame, best, v row.Value) row.Value {
		if better.of(f, v, best, at) == yes {
			return v
		}
		return best
	})
}

func (c functionCompiler) sum(at int, args []operand) operand {
	if args[0].shape != list && args[0].kind != row.JSON {
		c.fail(args[0].offset, CodeType, "sum() needs a list, here it has "+describe(args[0]), "write sum([a, b]), or add with +")
		return broken(at)
	}
	return c.reduce(at, args, func(f *frame, total, v row.Value) row.Value {
		if !total.Kind().IsNumber() || !v.Kind().IsNumber() {
			return f.fail(at, "sum() cannot add %s and %s", total.Kind(), v.Kind())
		}
		return calculate(f, '+', total, v, at)
	})
}

// reduce combines the arguments, or the elements of the list that is the only argument. The result is NULL where one
// argument or element is NULL, and for an empty list.
func (c functionCompiler) reduce(at int, args []operand, step func(f *frame, sofar, v row.Value) row.Value) operand {
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

// splitting makes the functions that split a text. Their third argument is the largest number of parts.
func splitting(fn func(s, sep string, n int) []string) builtinFunction {
	return builtinFunction{params: "tt?i", compile: func(_ functionCompiler, at int, args []operand) operand {
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

func (c functionCompiler) join(at int, args []operand) operand {
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
				return f.fail(at, "join() needs texts, here it has %s", v.Kind())
			}
			if texts[i] = v.Text(); !f.spend(len(texts[i])+len(g.Text()), at) {
				return row.Value{}
			}
		}
		return row.TextOf(strings.Join(texts, g.Text()))
	})
}

// fromJSON reads a text as JSON. An expression takes its members with a.b and a[0].
func (c functionCompiler) fromJSON(at int, args []operand) operand {
	val := args[0].val
	return treeOp(at, func(f *frame) any {
		v := val(f)
		if v.IsNull() {
			return nil
		}
		return decode(f, v.Text(), at)
	})
}

// orderFunctions are more functions of lists. Some make a list from another list, the others count or average the
// elements.
var orderFunctions = map[string]builtinFunction{
	"count":   {params: "r", exact: true, compile: functionCompiler.countRows},
	"take":    {params: "ri", exact: true, compile: functionCompiler.take},
	"reverse": {params: "l", exact: true, compile: functionCompiler.reverse},
	"sort":    {params: "l?t", exact: true, compile: functionCompiler.sort},
	"uniq":    {params: "l", exact: true, compile: functionCompiler.uniq},
	"mean":    {params: "a*", exact: true, compile: functionCompiler.mean},
	"median":  {params: "a*", exact: true, compile: functionCompiler.median},
}

// countRows compiles count without a predicate.
func (c functionCompiler) countRows(at int, args []operand) operand {
	if args[0].shape != records {
		c.fail(at, CodeType, "count() needs a predicate here", "as in count(x, # > 0); len() counts all the elements")
		return broken(at)
	}
	return c.size(at, args[0])
}

// take compiles take, which gives the first n elements.
func (c functionCompiler) take(at int, args []operand) operand {
	x, most := args[0], args[1].val
	count := func(f *frame, length int) int {
		n := most(f)
		if n.IsNull() || n.Kind() != row.Int || n.Int() < 0 {
			f.fail(at, "take() cannot take %s elements", n)
			return 0
		}
		return int(min(n.Int(), int64(length)))
	}
	if x.shape == records {
		return operand{shape: records, kind: rowKind, offset: at, column: -1, rows: func(f *frame) []*row.Row {
			all := x.rows(f)
			return all[:count(f, len(all))]
		}}
	}
	return x.derive(at, func(f *frame, all []row.Value) []row.Value { return all[:count(f, len(all))] })
}

func (c functionCompiler) reverse(at int, args []operand) operand {
	return args[0].derive(at, func(f *frame, all []row.Value) []row.Value {
		if !f.spend(len(all)*valueSize, at) {
			return nil
		}
		all = slices.Clone(all)
		slices.Reverse(all)
		return all
	})
}

// sort compiles sort. The least element comes first, and with "desc" the greatest.
func (c functionCompiler) sort(at int, args []operand) operand {
	descending := constOp(row.TextOf("asc"), at)
	if len(args) == 2 {
		descending = args[1]
	}
	if descending.constant && !slices.Contains([]string{"asc", "desc"}, descending.value.Text()) {
		c.fail(descending.offset, CodeType, `the second argument of sort() must be "asc" or "desc"`, "")
		return broken(at)
	}
	return args[0].derive(at, func(f *frame, all []row.Value) []row.Value {
		all = sorted(f, all, at)
		switch direction := descending.val(f); {
		case direction.Text() == "desc":
			slices.Reverse(all)
		case direction.Text() != "asc":
			f.fail(at, `the second argument of sort() must be "asc" or "desc"`)
		}
		return all
	})
}

// sorted returns a sorted copy. Elements that do not compare record a failure. Where a limit is exceeded, it returns
// nil.
func sorted(f *frame, all []row.Value, at int) []row.Value {
	if !f.spend(len(all)*valueSize, at) || !f.step(len(all)*bits.Len(uint(len(all))), at) {
		return nil
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b row.Value) int {
		order, err := row.Compare(a, b)
		if err != nil {
			f.fail(at, "%s", err)
		}
		return order
	})
	return all
}

// uniq compiles uniq, which keeps the first of equal elements.
func (c functionCompiler) uniq(at int, args []operand) operand {
	return args[0].derive(at, func(f *frame, all []row.Value) []row.Value {
		seen := make(map[string]bool, min(len(all), 1000))
		kept := []row.Value{}
		for _, v := range all {
			if !f.spend(2*valueSize+len(v.Text()), at) || !f.step(1, at) {
				return nil
			}
			key := identity(v)
			if !seen[key] {
				seen[key] = true
				kept = append(kept, v)
			}
		}
		return kept
	})
}

// identity returns a text that is the same for equal values.
func identity(v row.Value) string {
	if v.Kind() == row.Text {
		return `"` + v.Text() // not AppendKey, which removes spaces at the end
	}
	return string(v.AppendKey(nil))
}

// derive makes a list from the elements of another list. A list that is NULL stays NULL.
func (o operand) derive(at int, of func(f *frame, all []row.Value) []row.Value) operand {
	values := o.values()
	return operand{shape: list, kind: o.kind, offset: at, column: -1, list: func(f *frame) []row.Value {
		all := values(f)
		if all == nil {
			return nil
		}
		return of(f, all)
	}}
}

// mean compiles the sum divided by the count. It divides as / does: the result is a decimal for decimals, else a float.
func (c functionCompiler) mean(at int, args []operand) operand {
	return c.average(at, "mean", args, func(f *frame, all []row.Value) row.Value {
		total := all[0]
		for _, v := range all[1:] {
			total = calculate(f, '+', total, v, at)
			if total.IsNull() {
				return total
			}
		}
		return calculate(f, '/', total, row.IntOf(int64(len(all))), at)
	})
}

// median compiles the middle value in order. For an even number of values it is the mean of the two in the middle.
func (c functionCompiler) median(at int, args []operand) operand {
	return c.average(at, "median", args, func(f *frame, all []row.Value) row.Value {
		all = sorted(f, all, at)
		if all == nil || f.err != nil {
			return row.Value{}
		}
		a, b := all[(len(all)-1)/2], all[len(all)/2]
		total := calculate(f, '+', a, b, at)
		if total.IsNull() {
			return total
		}
		return calculate(f, '/', total, row.IntOf(2), at)
	})
}

// average compiles a function over numbers. The numbers are the arguments, or the elements of one list. The result is
// NULL where one number is NULL, and for an empty list.
func (c functionCompiler) average(at int, name string, args []operand, of func(f *frame, all []row.Value) row.Value) operand {
	x := args[0]
	if len(args) > 1 || x.shape != list && x.kind != row.JSON {
		u, ok := c.unify(at, "the arguments", args...)
		if !ok {
			return broken(at)
		}
		x = listOf(at, u)
	}
	kind := x.kind
	switch {
	case kind == row.Int:
		kind = row.Float
	case !kind.IsNumber() && kind != row.Null && kind != row.JSON:
		c.fail(at, CodeType, name+"() needs numbers, here it has "+kind.String(), "")
		return broken(at)
	}
	values := x.values()
	return valueOp(kind, at, func(f *frame) row.Value {
		all := values(f)
		if len(all) == 0 || !f.step(len(all), at) {
			return row.Value{}
		}
		for _, v := range all {
			if v.IsNull() {
				return v
			}
			if !v.Kind().IsNumber() {
				return f.fail(at, "%s() of %s", name, v.Kind())
			}
		}
		return of(f, all)
	})
}

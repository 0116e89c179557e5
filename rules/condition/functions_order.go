package condition

import (
	"math/bits"
	"slices"

	"tallyman/rules/row"
)

// orderFunctions make lists of lists, or one value of what stands in their order.
var orderFunctions = map[string]function{
	"count":   {params: "r", exact: true, compile: (*compiler).countRows},
	"take":    {params: "ri", exact: true, compile: (*compiler).take},
	"reverse": {params: "l", exact: true, compile: (*compiler).reverse},
	"sort":    {params: "l?t", exact: true, compile: (*compiler).sort},
	"uniq":    {params: "l", exact: true, compile: (*compiler).uniq},
	"mean":    {params: "a*", exact: true, compile: (*compiler).mean},
	"median":  {params: "a*", exact: true, compile: (*compiler).median},
}

// countRows compiles count without a predicate.
func (c *compiler) countRows(at int, args []operand) operand {
	if args[0].shape != records {
		c.fail(at, CodeType, "count() needs a predicate here", "as in count(x, # > 0); len() counts all the elements")
		return broken(at)
	}
	return c.size(at, args[0])
}

// take gives the first n elements.
func (c *compiler) take(at int, args []operand) operand {
	x, most := args[0], args[1].val
	count := func(f *frame, length int) int {
		n := most(f)
		if n.IsNull() || n.Kind() != row.Int || n.Int() < 0 {
			f.fail(at, "take() of %s elements", n)
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

func (c *compiler) reverse(at int, args []operand) operand {
	return args[0].derive(at, func(f *frame, all []row.Value) []row.Value {
		if !f.spend(len(all)*valueSize, at) {
			return nil
		}
		all = slices.Clone(all)
		slices.Reverse(all)
		return all
	})
}

// sort puts the least first, or with "desc" the most.
func (c *compiler) sort(at int, args []operand) operand {
	descending := constOp(row.TextOf("asc"), at)
	if len(args) == 2 {
		descending = args[1]
	}
	if descending.constant && !slices.Contains([]string{"asc", "desc"}, descending.value.Text()) {
		c.fail(descending.offset, CodeType, `sort() goes "asc" or "desc"`, "")
		return broken(at)
	}
	return args[0].derive(at, func(f *frame, all []row.Value) []row.Value {
		all = sorted(f, all, at)
		switch direction := descending.val(f); {
		case direction.Text() == "desc":
			slices.Reverse(all)
		case direction.Text() != "asc":
			f.fail(at, `sort() goes "asc" or "desc"`)
		}
		return all
	})
}

// sorted returns a sorted copy; nil, with a failure, where that cannot be.
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

// uniq keeps the first of equal elements.
func (c *compiler) uniq(at int, args []operand) operand {
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

// identity is equal for equal values.
func identity(v row.Value) string {
	if v.Kind() == row.Text {
		return `"` + v.Text() // with the spaces at its end, which keys cut
	}
	return string(v.AppendKey(nil))
}

// derive makes a list of the elements of another; NULL remains NULL.
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

// mean is the sum divided by the count, as / divides: a decimal for decimals, else a float.
func (c *compiler) mean(at int, args []operand) operand {
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

// median is the middle one in order, or the mean of the two in the middle.
func (c *compiler) median(at int, args []operand) operand {
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

// average compiles a function over numbers, which come as arguments or as a list. A NULL among them makes it NULL; of
// nothing it is NULL.
func (c *compiler) average(at int, name string, args []operand, of func(f *frame, all []row.Value) row.Value) operand {
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

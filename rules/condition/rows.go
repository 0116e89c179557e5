package condition

import (
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// The variables of an expression over a result.
const (
	varRows     = "rows"
	varRowCount = "row_count"
)

var (
	resultNames     = []string{varRowCount, varRows}
	resultVariables = []row.Column{{Name: varRowCount}, {Name: varRows}}
)

// resultVariable compiles rows and row_count. It returns false for any other name.
func resultVariable(name string, at int) (operand, bool) {
	switch name {
	case varRows:
		return operand{shape: records, kind: rowKind, offset: at, column: -1, rows: func(f *frame) []*row.Row { return f.rows }}, true
	case varRowCount:
		return valueOp(row.Int, at, func(f *frame) row.Value { return row.IntOf(int64(len(f.rows))) }), true
	}
	return operand{}, false
}

// aloneFault makes the fault of a column without its row, in an expression over a result. inside tells whether the
// column stands in a predicate. Where the name is close to a variable, the fault proposes that variable.
func aloneFault(name string, at int, inside bool) *Error {
	e := &Error{Offset: at, Code: CodeUnknownName, Message: "there is no variable " + name, Hint: problem.DidYouMean(name, resultNames)}
	switch {
	case e.Hint != "":
		return e
	case inside:
		e.Hint = "inside a predicate write ." + name
	default:
		e.Hint = "write rows[0]." + name + " for the first row, or any(rows, ." + name + " …) for all of them"
	}
	e.Message = "per: result judges all the rows at once, so " + name + " alone has no value"
	return e
}

// rowsHint says how to get values from a row or from rows.
func (c *compiler) rowsHint(o operand) string {
	if o.shape == record {
		return "take one of its columns, as in rows[0]." + c.anyColumn()
	}
	return "take the values of a column: map(rows, ." + c.anyColumn() + ")"
}

// anyColumn returns the name of a column for an example in a hint.
func (c *compiler) anyColumn() string {
	if len(c.columns) == 0 {
		return "qty"
	}
	return c.columns[len(c.columns)-1].Name
}

// rowAt compiles rows[i]. A row that does not exist is NULL, and its columns are NULL too.
func (c memberCompiler) rowAt(at int, x, key operand) operand {
	if key.shape != scalar || key.kind != row.Int {
		hint := "rows[0] is the first row, rows[-1] the last"
		if key.constant && key.kind == row.Text && row.Index(c.columns, key.value.Text()) >= 0 {
			name := key.value.Text()
			hint = "write rows[0]." + name + " for the first row, or map(rows, ." + name + ") for the values of all"
		}
		c.fail(at, CodeType, describe(x)+" has no such members", hint)
		return broken(at)
	}
	rows, index := x.rows, key.val
	return operand{shape: record, kind: rowKind, offset: at, column: -1, rec: func(f *frame) *row.Row {
		all := rows(f)
		i := index(f)
		n, ok := position(i.Int(), len(all))
		if !ok || i.IsNull() {
			return nil
		}
		return all[n]
	}}
}

// columnOf compiles a column of a row, such as rows[0].qty.
func (c memberCompiler) columnOf(at int, x, key operand) operand {
	if !key.constant || key.kind != row.Text {
		c.fail(at, CodeType, "a row has columns, not elements", "write rows[0]."+c.anyColumn())
		return broken(at)
	}
	name := key.value.Text()
	i := row.Index(c.columns, name)
	if i < 0 {
		c.fail(key.offset, CodeUnknownName, "there is no column "+name, suggest(name, c.names(c.columnNames()...), "columns"))
		return broken(at)
	}
	if x.current {
		return c.column(i, at)
	}
	c.used[i] = struct{}{}
	rec := x.rec
	return valueOp(c.kindOf(i), at, func(f *frame) row.Value {
		r := rec(f)
		if r == nil {
			return row.Value{}
		}
		return r.Values[i]
	})
}

// size compiles the number of elements of a list.
func (c *compiler) size(at int, x operand) operand {
	if x.shape == records {
		return valueOp(row.Int, at, func(f *frame) row.Value { return row.IntOf(int64(len(x.rows(f)))) })
	}
	return valueOp(row.Int, at, func(f *frame) row.Value {
		all := x.list(f)
		if all == nil {
			return row.Value{}
		}
		return row.IntOf(int64(len(all)))
	})
}

// element returns an operand with the kind of the list's elements, for messages.
func (o operand) element() operand { return operand{kind: o.kind} }

package condition

import (
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// member compiles a.b, a["b"] and a[0]. What is not there is NULL.
func (c *compiler) member(n *ast.MemberNode) operand {
	at := n.Location().From
	if id, ok := n.Node.(*ast.IdentifierNode); ok && id.Value == "$env" {
		return c.compile(n.Node) // refused there
	}
	return c.element(at, c.compile(n.Node), c.compile(n.Property))
}

func (c *compiler) element(at int, x, key operand) operand {
	switch {
	case x.bad || key.bad:
		return broken(at)
	case x.shape == record:
		return c.columnOf(at, x, key)
	case x.shape == records:
		return c.rowAt(at, x, key)
	case x.shape == list && key.kind == row.Int && key.shape == scalar:
		return elementOf(at, x, key)
	case x.kind == row.JSON && key.shape == scalar && (key.kind == row.Int || key.kind == row.Text):
		return memberOf(at, x, key)
	case x.kind == row.Text && key.kind == row.Int:
		c.fail(at, CodeType, "a text has no elements", "take a part of it: x[0:1]")
	case x.kind == row.Text && key.kind == row.Text:
		c.fail(at, CodeType, "a text has no members", "read JSON with fromJSON(x)")
	default:
		c.fail(at, CodeType, describe(x)+" has no such members", "")
	}
	return broken(at)
}

func elementOf(at int, x, key operand) operand {
	values, index := x.list, key.val
	return valueOp(x.kind, at, func(f *frame) row.Value {
		all := values(f)
		i := index(f)
		if i.IsNull() {
			return row.Value{}
		}
		n, ok := position(i.Int(), len(all))
		if !ok {
			return row.Value{}
		}
		return all[n]
	})
}

func memberOf(at int, x, key operand) operand {
	get, name := x.treeOf(), key.val
	return treeOp(at, func(f *frame) any {
		k := name(f)
		switch t := get(f).(type) {
		case map[string]any:
			if k.Kind() == row.Text {
				return t[k.Text()]
			}
		case []any:
			if n, ok := position(k.Int(), len(t)); ok && k.Kind() == row.Int {
				return t[n]
			}
		}
		return nil
	})
}

// position resolves an index; a negative one counts from the end.
func position(i int64, length int) (int, bool) {
	if i < 0 {
		i += int64(length)
	}
	return int(i), i >= 0 && i < int64(length)
}

// slice compiles x[from:to] of a text (by characters) or a list. Bounds beyond it are cut.
func (c *compiler) slice(n *ast.SliceNode) operand {
	at := n.Location().From
	x := c.compile(n.Node)
	low, high := constOp(row.IntOf(0), at), constOp(row.IntOf(1<<62), at)
	if n.From != nil {
		low = c.compile(n.From)
	}
	if n.To != nil {
		high = c.compile(n.To)
	}
	if x.bad || low.bad || high.bad {
		return broken(at)
	}
	for _, bound := range []operand{low, high} {
		if bound.shape == list || bound.kind != row.Int && bound.kind != row.Null {
			c.fail(bound.offset, CodeType, "a part goes from int to int, here it has "+describe(bound), "")
			return broken(at)
		}
	}
	from, to := low.val, high.val
	if x.shape == records {
		rows := x.rows
		return operand{shape: records, kind: rowKind, offset: at, column: -1, rows: func(f *frame) []*row.Row {
			all := rows(f)
			i, j := part(from(f), to(f), len(all))
			return all[i:j]
		}}
	}
	if x.shape == list {
		values := x.list
		return operand{shape: list, kind: x.kind, offset: at, column: -1, list: func(f *frame) []row.Value {
			all := values(f)
			i, j := part(from(f), to(f), len(all))
			return all[i:j]
		}}
	}
	if !isText(x) {
		c.fail(at, CodeType, describe(x)+" has no parts", "")
		return broken(at)
	}
	val := x.val
	return c.fold(valueOp(row.Text, at, func(f *frame) row.Value {
		v, a, b := val(f), from(f), to(f)
		s := v.Text()
		if v.IsNull() || a.IsNull() || b.IsNull() || !f.read(s, at) {
			return row.Value{}
		}
		i, j := part(a, b, utf8.RuneCountInString(s))
		return row.TextOf(s[byteAt(s, i):byteAt(s, j)])
	}), x, low, high)
}

// part resolves the bounds of a part.
func part(from, to row.Value, length int) (int, int) {
	resolve := func(v row.Value) int {
		i := v.Int()
		if i < 0 {
			i += int64(length)
		}
		return int(min(max(i, 0), int64(length)))
	}
	j := resolve(to)
	return min(resolve(from), j), j
}

// byteAt returns where the character number n begins.
func byteAt(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

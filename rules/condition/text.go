package condition

import (
	"regexp"
	"strings"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

var searches = map[string]func(s, part string) bool{
	"contains":   strings.Contains,
	"startsWith": strings.HasPrefix,
	"endsWith":   strings.HasSuffix,
}

// search compiles contains, startsWith and endsWith.
func (c *compiler) search(n *ast.BinaryNode) operand {
	l, r := c.compile(n.Left), c.compile(n.Right)
	at := n.Location().From
	if !c.texts(n.Operator, l, r) {
		return broken(at)
	}
	find := searches[n.Operator]
	if l.column >= 0 && r.constant && r.kind == row.Text {
		i, part := l.column, r.value.Text()
		return condOp(at, func(f *frame) truth {
			v := &f.row.Values[i]
			if v.IsNull() {
				return unknown
			}
			return toTruth(find(v.Text(), part))
		})
	}
	left, right := l.val, r.val
	return c.fold(condOp(at, func(f *frame) truth {
		a := left(f)
		b := right(f)
		if a.IsNull() || b.IsNull() {
			return unknown
		}
		return toTruth(find(a.Text(), b.Text()))
	}), l, r)
}

// matches compiles the regular expression once. RE2 has no pattern that takes long.
func (c *compiler) matches(n *ast.BinaryNode) operand {
	l, r := c.compile(n.Left), c.compile(n.Right)
	at := n.Location().From
	if !c.texts(n.Operator, l, r) {
		return broken(at)
	}
	if !r.constant || r.kind != row.Text {
		return c.unsupported(r.offset, "the pattern after matches must be a constant", "use contains, startsWith or endsWith")
	}
	re, err := regexp.Compile(r.value.Text())
	if err != nil {
		c.fail(r.offset, CodeType, strings.Replace(err.Error(), "error parsing regexp", "the pattern does not compile", 1), "")
		return broken(at)
	}
	val := l.val
	return c.fold(condOp(at, func(f *frame) truth {
		v := val(f)
		if v.IsNull() {
			return unknown
		}
		return toTruth(re.MatchString(v.Text()))
	}), l)
}

// texts checks that an operator has texts on both sides.
func (c *compiler) texts(operator string, sides ...operand) bool {
	ok := true
	for _, o := range sides {
		if !o.bad && !isText(o) {
			hint := ""
			if o.kind != row.Bool && o.shape != list {
				hint = "make a text of it with string(…)"
			} else if o.kind == row.Bool {
				hint = "not binds tighter than " + operator + ": write not (a " + operator + " b)"
			}
			c.fail(o.offset, CodeType, operator+" needs texts, here it has "+describe(o), hint)
		}
		ok = ok && !o.bad && isText(o)
	}
	return ok
}

func (c *compiler) concat(at int, l, r operand) operand {
	left, right := l.val, r.val
	return c.fold(valueOp(row.Text, at, func(f *frame) row.Value {
		a := left(f)
		b := right(f)
		if a.IsNull() || b.IsNull() || !f.spend(len(a.Text())+len(b.Text()), at) {
			return row.Value{}
		}
		return row.TextOf(a.Text() + b.Text())
	}), l, r)
}

package condition

import (
	"regexp"
	"regexp/syntax"
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
			if v.IsNull() || !f.read(v.Text(), at) {
				return unknown
			}
			return toTruth(find(v.Text(), part))
		})
	}
	left, right := l.val, r.val
	return c.fold(condOp(at, func(f *frame) truth {
		a := left(f)
		b := right(f)
		if a.IsNull() || b.IsNull() || !f.read(a.Text(), at) {
			return unknown
		}
		return toTruth(find(a.Text(), b.Text()))
	}), l, r)
}

// A regular expression takes at most as many steps as its instructions times the characters of the text. A step
// counts stepCost towards maxRead. An expression has at most maxInstructions and patterns of maxPattern bytes.
const (
	stepCost        = 16
	maxInstructions = 10_000
	maxPattern      = 1000
)

// matches compiles the regular expression once.
func (c *compiler) matches(n *ast.BinaryNode) operand {
	l, r := c.compile(n.Left), c.compile(n.Right)
	at := n.Location().From
	if !c.texts(n.Operator, l, r) {
		return broken(at)
	}
	if !r.constant || r.kind != row.Text {
		return c.unsupported(r.offset, "the pattern after matches must be a constant", "use contains, startsWith or endsWith")
	}
	if len(r.value.Text()) > maxPattern || c.regexps > maxInstructions {
		return c.unsupported(r.offset, "the patterns are too large", "repeat less in them")
	}
	re, instructions, err := pattern(r.value.Text())
	if err != nil {
		c.fail(r.offset, CodeType, "the pattern does not compile: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "")
		return broken(at)
	}
	if c.regexps += instructions; c.regexps > maxInstructions {
		return c.unsupported(r.offset, "the patterns are too large", "repeat less in them")
	}
	val := l.val
	return c.fold(condOp(at, func(f *frame) truth {
		v := val(f)
		if v.IsNull() || !f.charge(len(v.Text())*instructions*stepCost, at) {
			return unknown
		}
		return toTruth(re.MatchString(v.Text()))
	}), l)
}

// pattern compiles a regular expression and counts its instructions.
func pattern(s string) (*regexp.Regexp, int, error) {
	parsed, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, err
	}
	re, err := regexp.Compile(s)
	return re, len(prog.Inst), err
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

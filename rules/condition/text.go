package condition

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

var searches = map[string]func(s, part string) bool{
	"contains":   strings.Contains,
	"startsWith": strings.HasPrefix,
	"endsWith":   strings.HasSuffix,
}

// search compiles contains, startsWith and endsWith.
func (c operatorCompiler) search(n *ast.BinaryNode) operand {
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

// The bounds of regular expressions. Matching takes at most as many steps as the pattern has instructions, times the
// bytes of the text. Each step counts as stepCost bytes that are read. maxInstructions bounds all patterns of an
// expression together, and maxPattern the bytes of each pattern.
const (
	stepCost        = 16
	maxInstructions = 10_000
	maxPattern      = 1000
)

// matches compiles the operator matches. It compiles the regular expression once, so the pattern must be a constant.
func (c operatorCompiler) matches(n *ast.BinaryNode) operand {
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

// texts checks that all operands of an operator are texts.
func (c *compiler) texts(operator string, sides ...operand) bool {
	ok := true
	for _, o := range sides {
		if !o.bad && !isText(o) {
			hint := ""
			if o.kind != row.Bool && o.shape != list {
				hint = "make a text of it with string(…)"
			} else if o.kind == row.Bool {
				hint = "the operator not is applied before " + operator + ": write not (a " + operator + " b)"
			}
			c.fail(o.offset, CodeType, operator+" needs texts, here it has "+describe(o), hint)
		}
		ok = ok && !o.bad && isText(o)
	}
	return ok
}

func (c operatorCompiler) concat(at int, l, r operand) operand {
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

// textFunctions are the functions of texts.
var textFunctions = map[string]builtinFunction{
	"len":    {params: "c", compile: functionCompiler.length},
	"string": {params: "x", exact: true, compile: functionCompiler.toText},
	"upper":  onText(strings.ToUpper),
	"lower":  onText(strings.ToLower),
	"trim": {params: "t?t", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.each(row.Text, "t", at, a, func(_ *frame, v []row.Value) row.Value {
			if len(v) == 1 {
				return row.TextOf(strings.TrimSpace(v[0].Text()))
			}
			return row.TextOf(strings.Trim(v[0].Text(), v[1].Text()))
		})
	}},
	"trimPrefix":  cutting(strings.TrimPrefix),
	"trimSuffix":  cutting(strings.TrimSuffix),
	"hasPrefix":   finding(strings.HasPrefix),
	"hasSuffix":   finding(strings.HasSuffix),
	"indexOf":     locating(strings.Index),
	"lastIndexOf": locating(strings.LastIndex),
	"repeat":      {params: "ti", compile: functionCompiler.repeat},
	"replace":     {params: "ttt?i", compile: functionCompiler.replace},
}

func onText(fn func(string) string) builtinFunction {
	return builtinFunction{params: "t", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.each(row.Text, "t", at, a, func(f *frame, v []row.Value) row.Value {
			if !f.spend(len(v[0].Text()), at) {
				return row.Value{}
			}
			return row.TextOf(fn(v[0].Text()))
		})
	}}
}

// cutting makes the functions that remove a text at one end. Without a second argument they remove a space, as in expr.
func cutting(fn func(s, part string) string) builtinFunction {
	return builtinFunction{params: "t?t", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.each(row.Text, "t", at, a, func(_ *frame, v []row.Value) row.Value {
			part := " "
			if len(v) == 2 {
				part = v[1].Text()
			}
			return row.TextOf(fn(v[0].Text(), part))
		})
	}}
}

func finding(fn func(s, part string) bool) builtinFunction {
	return builtinFunction{params: "tt", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.each(row.Bool, "t", at, a, func(_ *frame, v []row.Value) row.Value {
			return row.BoolOf(fn(v[0].Text(), v[1].Text()))
		})
	}}
}

// locating makes the functions that find a text. Their result is a position in characters, or -1.
func locating(fn func(s, part string) int) builtinFunction {
	return builtinFunction{params: "tt", compile: func(c functionCompiler, at int, a []operand) operand {
		return c.each(row.Int, "t", at, a, func(_ *frame, v []row.Value) row.Value {
			i := fn(v[0].Text(), v[1].Text())
			if i > 0 {
				i = utf8.RuneCountInString(v[0].Text()[:i])
			}
			return row.IntOf(int64(i))
		})
	}}
}

// length compiles len: the characters of a text, or the elements of a list.
func (c functionCompiler) length(at int, args []operand) operand {
	x := args[0]
	if x.shape == list || x.shape == records {
		return c.size(at, x)
	}
	if x.kind != row.Text && x.kind != row.JSON && x.kind != row.Null {
		c.fail(x.offset, CodeType, "len() needs a text or a list, here it has "+describe(x), "")
		return broken(at)
	}
	if x.kind != row.JSON {
		return c.each(row.Int, "t", at, args, func(_ *frame, v []row.Value) row.Value {
			return row.IntOf(int64(utf8.RuneCountInString(v[0].Text())))
		})
	}
	get := x.treeOf()
	return valueOp(row.Int, at, func(f *frame) row.Value {
		var n int
		switch t := get(f).(type) {
		case nil:
			return row.Value{}
		case []any:
			n = len(t)
		case map[string]any:
			n = len(t)
		case string:
			n = utf8.RuneCountInString(t)
		case row.Value:
			if t.Kind() != row.Text {
				return f.fail(at, "len() cannot take %s", t.Kind())
			}
			n = utf8.RuneCountInString(t.Text())
		default:
			return f.fail(at, "len() needs a text, an array or an object")
		}
		return row.IntOf(int64(n))
	})
}

// toText compiles string, which writes a value in the same way as a template.
func (c functionCompiler) toText(at int, args []operand) operand {
	args = []operand{args[0].exact()}
	return c.each(row.Text, "x", at, args, func(f *frame, v []row.Value) row.Value {
		s := v[0].String()
		if !f.spend(len(s), at) {
			return row.Value{}
		}
		return row.TextOf(s)
	})
}

func (c functionCompiler) repeat(at int, args []operand) operand {
	return c.each(row.Text, "ti", at, args, func(f *frame, v []row.Value) row.Value {
		s, n := v[0].Text(), v[1].Int()
		if n < 0 || n > int64(f.most.work) || !f.spend(len(s)*int(n), at) {
			return f.fail(at, "repeat() cannot repeat the text %d times", n)
		}
		return row.TextOf(strings.Repeat(s, int(n)))
	})
}

// replace compiles replace. It replaces the first n matches. Without n, or with a negative n, it replaces all.
func (c functionCompiler) replace(at int, args []operand) operand {
	return c.each(row.Text, "ttti", at, args, func(f *frame, v []row.Value) row.Value {
		s, old, with, n := v[0].Text(), v[1].Text(), v[2].Text(), -1
		if len(v) == 4 {
			n = int(v[3].Int())
		}
		found := strings.Count(s, old)
		if n >= 0 {
			found = min(found, n)
		}
		if !f.spend(len(s), at) || !f.spend(found*len(with), at) {
			return row.Value{}
		}
		return row.TextOf(strings.Replace(s, old, with, n))
	})
}

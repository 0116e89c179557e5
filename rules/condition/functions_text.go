package condition

import (
	"strings"
	"unicode/utf8"

	"tallyman/rules/row"
)

// textFunctions work on texts.
var textFunctions = map[string]function{
	"len":    {params: "c", compile: (*compiler).length},
	"string": {params: "x", exact: true, compile: (*compiler).toText},
	"upper":  onText(strings.ToUpper),
	"lower":  onText(strings.ToLower),
	"trim": {params: "t?t", compile: func(c *compiler, at int, a []operand) operand {
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
	"repeat":      {params: "ti", compile: (*compiler).repeat},
	"replace":     {params: "ttt?i", compile: (*compiler).replace},
}

func onText(fn func(string) string) function {
	return function{params: "t", compile: func(c *compiler, at int, a []operand) operand {
		return c.each(row.Text, "t", at, a, func(f *frame, v []row.Value) row.Value {
			if !f.spend(len(v[0].Text()), at) {
				return row.Value{}
			}
			return row.TextOf(fn(v[0].Text()))
		})
	}}
}

// cutting removes a text at an end; without a second argument a space, as in expr.
func cutting(fn func(s, part string) string) function {
	return function{params: "t?t", compile: func(c *compiler, at int, a []operand) operand {
		return c.each(row.Text, "t", at, a, func(_ *frame, v []row.Value) row.Value {
			part := " "
			if len(v) == 2 {
				part = v[1].Text()
			}
			return row.TextOf(fn(v[0].Text(), part))
		})
	}}
}

func finding(fn func(s, part string) bool) function {
	return function{params: "tt", compile: func(c *compiler, at int, a []operand) operand {
		return c.each(row.Bool, "t", at, a, func(_ *frame, v []row.Value) row.Value {
			return row.BoolOf(fn(v[0].Text(), v[1].Text()))
		})
	}}
}

// locating gives a position in characters, or -1.
func locating(fn func(s, part string) int) function {
	return function{params: "tt", compile: func(c *compiler, at int, a []operand) operand {
		return c.each(row.Int, "t", at, a, func(_ *frame, v []row.Value) row.Value {
			i := fn(v[0].Text(), v[1].Text())
			if i > 0 {
				i = utf8.RuneCountInString(v[0].Text()[:i])
			}
			return row.IntOf(int64(i))
		})
	}}
}

// length counts characters of a text, or elements.
func (c *compiler) length(at int, args []operand) operand {
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
				return f.fail(at, "len() of %s", t.Kind())
			}
			n = utf8.RuneCountInString(t.Text())
		default:
			return f.fail(at, "len() of what is no text, array or object")
		}
		return row.IntOf(int64(n))
	})
}

// toText writes a value as templates do.
func (c *compiler) toText(at int, args []operand) operand {
	args = []operand{args[0].exact()}
	return c.each(row.Text, "x", at, args, func(f *frame, v []row.Value) row.Value {
		s := v[0].String()
		if !f.spend(len(s), at) {
			return row.Value{}
		}
		return row.TextOf(s)
	})
}

func (c *compiler) repeat(at int, args []operand) operand {
	return c.each(row.Text, "ti", at, args, func(f *frame, v []row.Value) row.Value {
		s, n := v[0].Text(), v[1].Int()
		if n < 0 || n > int64(f.most.work) || !f.spend(len(s)*int(n), at) {
			return f.fail(at, "repeat() of %d times", n)
		}
		return row.TextOf(strings.Repeat(s, int(n)))
	})
}

// replace replaces the first n or, without n or with a negative one, all.
func (c *compiler) replace(at int, args []operand) operand {
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

package condition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"

	"tallyman/rules/row"
)

// builtinFunction is a builtin of expr in the form that conditions have. A NULL argument gives NULL.
type builtinFunction struct {
	// params has a letter for each argument: t = text, i = int, n = number, l = list of values, r = list of values or
	// rows, x = any single value, a = value or list of values, c = anything that has a length. Letters after "?" are
	// optional. "*" repeats the letter before it.
	params  string
	exact   bool // The function keeps decimals exact.
	compile func(c functionCompiler, at int, args []operand) operand
}

// findFunction finds a builtin by name. It returns nil where conditions have no such function.
func findFunction(name string) *builtinFunction {
	for _, table := range []map[string]builtinFunction{numberFunctions, textFunctions, timeFunctions, listFunctions, orderFunctions} {
		if fn, ok := table[name]; ok {
			return &fn
		}
	}
	if b, ok := exprFunctions[name]; ok {
		return &builtinFunction{params: b.params, compile: func(c functionCompiler, at int, args []operand) operand {
			return c.borrow(name, b, at, args)
		}}
	}
	return nil
}

const withoutBits = "calculate it in the SQL of the probe; bitand(flags, 4) != 0 looks at a flag"

// withoutUse lists builtins of expr that conditions refuse, with hints what to do instead.
var withoutUse = map[string]string{
	"keys": "take a member by its name", "values": "take a member by its name",
	"toPairs": "take a member by its name", "fromPairs": "take a member by its name",
	"bitor": withoutBits, "bitxor": withoutBits, "bitnand": withoutBits, "bitnot": withoutBits,
	"bitshl": withoutBits, "bitshr": withoutBits, "bitushr": withoutBits,
	"type": "the kinds of columns are known at load", "timezone": `it stands in date("…", timezone("…")) and x.In(timezone("…")) only`,
}

// call compiles the call of a builtin.
func (c functionCompiler) call(n *ast.BuiltinNode) operand {
	at := n.Location().From
	if n.Name == "date" {
		return c.date(n)
	}
	if len(n.Arguments) == 2 && predicateFunctions[n.Name] != nil {
		return c.members().predicate(n)
	}
	fn := findFunction(n.Name)
	if fn == nil {
		hint, ok := withoutUse[n.Name]
		if !ok {
			hint = "do it in SQL"
		}
		return c.unsupported(at, n.Name+"() has no use in a condition", hint)
	}
	args := make([]operand, len(n.Arguments))
	for i, node := range n.Arguments {
		if p, ok := node.(*ast.PredicateNode); ok {
			return c.unsupported(p.Location().From, n.Name+"() takes no predicate in a condition", "do it in SQL")
		}
		args[i] = c.compile(node)
	}
	if !c.fits(n.Name, fn, at, args) {
		return broken(at)
	}
	return fn.compile(c, at, args)
}

// fits checks the arguments against the function's params.
func (c functionCompiler) fits(name string, fn *builtinFunction, at int, args []operand) bool {
	letters, least, most := params(fn.params)
	if len(args) < least || len(args) > most {
		c.fail(at, CodeType, fmt.Sprintf("%s() takes %s, here it has %d", name, counted(least, most), len(args)), "")
		return false
	}
	ok := true
	for i, a := range args {
		letter := letters[min(i, len(letters)-1)]
		switch {
		case a.bad:
			ok = false
		case a.kind == rowKind && !accepts(letter, a):
			c.fail(a.offset, CodeType, fmt.Sprintf("%s() needs %s, here it has %s", name, letterNames[letter], describe(a)), c.rowsHint(a))
			ok = false
		case !fn.exact && a.kind == row.Decimal && !a.literal:
			c.fail(a.offset, CodeDecimal, name+"() is not exact for decimals", "decimals have + - * / %, comparisons, in, ??, abs, min, max, sum and round")
			ok = false
		case !accepts(letter, a):
			c.fail(a.offset, CodeType, fmt.Sprintf("%s() needs %s, here it has %s", name, letterNames[letter], describe(a)), "")
			ok = false
		}
	}
	return ok
}

var letterNames = map[byte]string{'t': "a text", 'i': "an int", 'n': "numbers", 'l': "a list of values", 'r': "a list", 'x': "a single value", 'a': "values", 'c': "a text or a list"}

// params splits builtinFunction.params into a letter for each argument and the bounds of the number of arguments.
func params(s string) (letters string, least, most int) {
	required, optional, _ := strings.Cut(s, "?")
	if repeated, ok := strings.CutSuffix(required, "*"); ok {
		return repeated, len(repeated), maxParts
	}
	return required + optional, len(required), len(required) + len(optional)
}

func counted(least, most int) string {
	switch {
	case most == maxParts:
		return fmt.Sprintf("%d or more arguments", least)
	case least == most && most == 1:
		return "1 argument"
	case least == most:
		return fmt.Sprintf("%d arguments", most)
	}
	return fmt.Sprintf("%d to %d arguments", least, most)
}

func accepts(letter byte, a operand) bool {
	switch letter {
	case 'a':
		return a.kind != rowKind
	case 'l':
		return a.shape == list || a.kind == row.JSON
	case 'r':
		return a.shape == list || a.shape == records || a.kind == row.JSON
	case 'c':
		return a.shape != record
	}
	if letter == 'n' && a.shape == list { // a function of numbers also takes one list of numbers
		return a.kind.IsNumber() || a.kind == row.Null || a.kind == row.JSON
	}
	if a.shape == list || a.kind == rowKind {
		return false
	}
	switch {
	case letter == 'x' || a.kind == row.Null || a.kind == row.JSON:
		return true
	case letter == 't':
		return a.kind == row.Text
	case letter == 'i':
		return a.kind == row.Int
	}
	return a.kind.IsNumber()
}

// callOther compiles a call that is not of a builtin: a method of a time or a duration. It reports any other call.
func (c functionCompiler) callOther(n *ast.CallNode) operand {
	at := n.Location().From
	if m, ok := n.Callee.(*ast.MemberNode); ok {
		if name, ok := m.Property.(*ast.StringNode); ok {
			return c.members().method(at, m.Node, name.Value, n.Arguments)
		}
	}
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return c.unsupported(at, "this cannot be called", "")
	}
	_, isBuiltin := builtin.Index[id.Value]
	switch {
	case row.Index(c.columns, id.Value) >= 0 && isBuiltin:
		c.fail(at, CodeType, id.Value+" is a column here and hides the function", "write ::"+id.Value+"(…) for the function")
	case row.Index(c.columns, id.Value) >= 0:
		c.fail(at, CodeType, id.Value+" is a column, not a function", "")
	default:
		names := slices.Clone(builtin.Names)
		names = slices.DeleteFunc(names, func(name string) bool { return name != "date" && findFunction(name) == nil })
		hint, ok := sqlFunctions[strings.ToLower(id.Value)]
		if !ok {
			hint = suggest(id.Value, names, "")
		}
		c.fail(at, CodeUnknownName, "there is no function "+id.Value, hint)
	}
	return broken(at)
}

// each makes an operand that applies fn to arguments that are not NULL. It checks the arguments against the letters at
// run time as well, because the kinds of values from JSON are known only then. fn must not keep v.
func (c *compiler) each(kind row.Kind, letters string, at int, args []operand, fn func(f *frame, v []row.Value) row.Value) operand {
	vals := make([]func(*frame) row.Value, len(args))
	for i, a := range args {
		vals[i] = a.plain().val
	}
	return c.fold(valueOp(kind, at, func(f *frame) row.Value {
		base := len(f.args)
		defer func() { f.args = f.args[:base] }()
		for i, val := range vals {
			x := val(f)
			if x.IsNull() || !f.read(x.Text(), at) {
				return row.Value{}
			}
			letter := letters[min(i, len(letters)-1)]
			if !accepts(letter, operand{kind: x.Kind()}) || letter != 'x' && x.Kind() == row.JSON {
				return f.fail(at, "the function needs %s, here it has %s", letterNames[letter], x.Kind())
			}
			f.args = append(f.args, x)
		}
		return fn(f, f.args[base:])
	}), args...)
}

// exprFunction is a builtin that expr itself runs. Arguments and results are converted.
type exprFunction struct {
	params string
	result row.Kind
}

var exprFunctions = map[string]exprFunction{
	"toJSON":     {params: "x", result: row.Text},
	"toBase64":   {params: "t", result: row.Text},
	"fromBase64": {params: "t", result: row.Text},
	"bitand":     {params: "ii", result: row.Int},
}

// borrow compiles a call of a function that expr itself runs.
func (c functionCompiler) borrow(name string, b exprFunction, at int, args []operand) operand {
	call := expr(name)
	letters, _, _ := params(b.params)
	gets := make([]func(*frame) (any, bool), len(args))
	constants := true
	for i, a := range args {
		gets[i] = a.lend(letters[min(i, len(letters)-1)])
		constants = constants && a.constant
	}
	run := func(f *frame) any {
		values := make([]any, len(gets))
		for i, get := range gets {
			v, ok := get(f)
			if !ok {
				return nil
			}
			values[i] = v
		}
		x, err := call(values)
		if err != nil {
			f.fail(at, "%s(): %s", name, err)
		}
		return x
	}
	o := valueOp(b.result, at, func(f *frame) row.Value { return fromGo(f, run(f), at) })
	if constants {
		return c.fold(o, args...)
	}
	return o
}

// expr returns expr's function with the name. It turns panics of the function into errors.
func expr(name string) func(args []any) (any, error) {
	fn := builtin.Builtins[builtin.Index[name]]
	return func(args []any) (x any, err error) {
		defer func() {
			if p := recover(); p != nil {
				x, err = nil, fmt.Errorf("%v", p)
			}
		}()
		switch {
		case fn.Fast != nil:
			return fn.Fast(args[0]), nil
		case fn.Safe != nil:
			x, _, err = fn.Safe(args...)
			return x, err
		}
		return fn.Func(args...)
	}
}

// lend returns a function that gives the argument to expr. The function returns false for NULL, and after a failure.
func (o operand) lend(letter byte) func(*frame) (any, bool) {
	at, val := o.offset, o.plain().val
	return func(f *frame) (any, bool) {
		v := val(f)
		if letter != 'x' && !v.IsNull() && (v.Kind() == row.JSON || !accepts(letter, operand{kind: v.Kind()})) {
			f.fail(at, "the function needs %s, here it has %s", letterNames[letter], v.Kind())
			return nil, false
		}
		if !f.spend(2*len(v.Text()), at) {
			return nil, false
		}
		return toGo(v), !v.IsNull()
	}
}

// toGo converts a value for expr. Ints become int, and decimals from JSON become floats.
func toGo(v row.Value) any {
	switch v.Kind() {
	case row.Int:
		return int(v.Int())
	case row.Decimal:
		return floatOf(v)
	case row.JSON:
		return json.RawMessage(v.Text())
	default:
		return v.Interface()
	}
}

// fromGo converts a result of expr to a value.
func fromGo(f *frame, x any, at int) row.Value {
	switch x := x.(type) {
	case nil:
		return row.Value{}
	case int:
		return row.IntOf(int64(x))
	case float64:
		return row.FloatOf(x)
	case bool:
		return row.BoolOf(x)
	case string:
		return row.TextOf(x)
	case json.RawMessage:
		return row.JSONOf(string(x))
	}
	v, ok := fromTime(x)
	if !ok {
		return f.fail(at, "a result of type %T", x)
	}
	return v
}

package condition

import (
	"encoding/json"
	"fmt"

	"github.com/expr-lang/expr/builtin"

	"tallyman/rules/row"
)

// borrowed is a builtin that runs as expr has it, over values converted there and back.
type borrowed struct {
	params string
	result row.Kind
}

var borrowedFunctions = map[string]borrowed{
	"toJSON":     {params: "x", result: row.Text},
	"toBase64":   {params: "t", result: row.Text},
	"fromBase64": {params: "t", result: row.Text},
	"bitand":     {params: "ii", result: row.Int},
}

// borrow compiles a call of expr's own function.
func (c *compiler) borrow(name string, b borrowed, at int, args []operand) operand {
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

// expr returns expr's function of that name; its panics over odd arguments are errors.
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

// lend gives an argument to expr; false where it is NULL.
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

// toGo converts for expr: ints as int, and the decimals that come out of JSON as floats.
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

// fromGo converts back.
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

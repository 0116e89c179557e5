package scanners

import (
	"fmt"
	"time"

	"tallyman/rules/row"
)

// Values returns the arguments of a scan in the order in which the driver binds them. One that is missing or
// of a type that Request does not name is a CodeParam error.
func Values(args map[string]any, order []string) ([]row.Value, error) {
	values := make([]row.Value, len(order))
	for i, name := range order {
		arg, found := args[name]
		if !found {
			return nil, ParamError(name, fmt.Errorf("has no value"), "give it one under params")
		}
		v, ok := valueOf(arg)
		if !ok {
			return nil, ParamError(name, fmt.Errorf("is a %T", arg), "a parameter is text, a number, true, false or null")
		}
		values[i] = v
	}
	return values, nil
}

func valueOf(arg any) (row.Value, bool) {
	switch a := arg.(type) {
	case nil:
		return row.Value{}, true
	case row.Value:
		return a, true
	case string:
		return row.TextOf(a), true
	case int:
		return row.IntOf(int64(a)), true
	case int64:
		return row.IntOf(a), true
	case float64:
		return row.FloatOf(a), true
	case bool:
		return row.BoolOf(a), true
	case time.Time:
		return row.TimeOf(a), true
	}
	return row.Value{}, false
}

// ParamError says what is wrong with the value of a parameter.
func ParamError(name string, err error, hint string) *Error {
	return &Error{Code: CodeParam, Hint: hint, Err: fmt.Errorf("parameter :%s %w", name, err)}
}

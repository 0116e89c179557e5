package condition

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tallyman/rules/problem"
)

// Code is a stable name of what is wrong with an expression.
type Code string

// The codes. All but CodeValue are found at load.
const (
	CodeSyntax      Code = "expr_syntax"       // it does not parse
	CodeUnknownName Code = "expr_unknown_name" // no column, variable or function of that name
	CodeType        Code = "expr_type"         // the kinds do not fit, or a constant part has no value
	CodeUnsupported Code = "expr_unsupported"  // expr has it, conditions do not
	CodeDecimal     Code = "expr_decimal"      // a function that would lose a decimal's exactness
	CodeValue       Code = "expr_value"        // this row cannot be judged: overflow, division by zero, …
)

// Error is one fault of an expression. Error returns the message alone.
type Error struct {
	Offset  int // in characters from the start of the expression
	Code    Code
	Message string
	Hint    string // the way out, or ""
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errors returns the faults that err holds, in the order of the source.
func Errors(err error) []*Error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var all []*Error
		for _, e := range joined.Unwrap() {
			all = append(all, Errors(e)...)
		}
		return all
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return []*Error{e}
	}
	return nil
}

// join orders the faults and drops repetitions, which a part compiled twice makes.
func join(faults []*Error) error {
	slices.SortStableFunc(faults, func(a, b *Error) int { return cmp.Compare(a.Offset, b.Offset) })
	faults = slices.CompactFunc(faults, func(a, b *Error) bool { return *a == *b })
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return faults[0]
	}
	all := make([]error, len(faults))
	for i, f := range faults {
		all[i] = f
	}
	return errors.Join(all...)
}

// sqlFunctions translate functions that people bring along from SQL.
var sqlFunctions = map[string]string{
	"avg":         "write mean([a, b]), or mean(map(rows, .qty)) with per: result",
	"coalesce":    "write a ?? b",
	"nvl":         "write a ?? b",
	"ifnull":      "write a ?? b",
	"isnull":      "write a == nil, or a ?? b for a default",
	"nullif":      "write a == b ? nil : a",
	"greatest":    "write max(a, b)",
	"least":       "write min(a, b)",
	"length":      "write len(a)",
	"char_length": "write len(a)",
	"substr":      "write a[0:3] for the first three characters",
	"substring":   "write a[0:3] for the first three characters",
	"left":        "write a[:3]",
	"right":       "write a[-3:]",
	"instr":       "write indexOf(a, b)",
	"to_char":     "write string(a), or a.Format(\"2006-01-02\") for a time",
	"to_number":   "write int(a) or float(a)",
	"to_date":     "write date(a)",
	"cast":        "write string(a), int(a) or float(a)",
	"extract":     "write a.Year(), a.Month(), a.Hour() …",
	"datediff":    "write a - b, which is a duration: (a - b).Hours() > 2",
	"getdate":     "write now()",
	"sysdate":     "write now()",
	"mod":         "write a % b",
	"power":       "write a ** b",
}

// suggest makes the hint for an unknown name: the nearest of the known ones, or what there is.
func suggest(name string, known []string, what string) string {
	if hint := problem.DidYouMean(name, known); hint != "" {
		return hint
	}
	const most = 30
	switch {
	case what == "" || len(known) == 0:
		return ""
	case len(known) > most:
		return fmt.Sprintf("%s: %s … (%d)", what, strings.Join(known[:most], ", "), len(known))
	}
	return what + ": " + strings.Join(known, ", ")
}

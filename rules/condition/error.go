package condition

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tallyman/rules/problem"
)

// Code is a stable name for a kind of fault in an expression.
type Code string

// The codes. All but CodeValue are found at load.
const (
	CodeSyntax      Code = "expr_syntax"       // the expression does not parse
	CodeUnknownName Code = "expr_unknown_name" // there is no column, variable or function with the name
	CodeType        Code = "expr_type"         // the kinds do not fit, or a constant part has no value
	CodeUnsupported Code = "expr_unsupported"  // expr has this feature, but conditions do not
	CodeDecimal     Code = "expr_decimal"      // the function would make a decimal inexact
	CodeValue       Code = "expr_value"        // the row cannot be judged: overflow, division by zero, …
)

// Error is one fault of an expression. The method Error returns the message without the hint.
type Error struct {
	Offset  int // In characters from the start of the expression.
	Code    Code
	Message string
	Hint    string // What to do. Empty where the message says it.
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

// join sorts the faults and drops repetitions. The compiler makes repetitions where it compiles a part twice.
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

// sqlFunctions holds hints for functions of SQL that conditions do not have.
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

// suggest makes the hint for an unknown name: the nearest known name, or else a list of the known names. The parameter
// what is the word for the names, such as "columns".
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

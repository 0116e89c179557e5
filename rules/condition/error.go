package condition

import (
	"cmp"
	"errors"
	"slices"
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

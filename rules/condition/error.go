package condition

// Code is a stable name of what is wrong with an expression.
type Code string

// The codes.
const (
	CodeSyntax      Code = "expr_syntax"       // it does not parse
	CodeUnknownName Code = "expr_unknown_name" // no column, variable or function of that name
	CodeType        Code = "expr_type"         // the kinds do not fit
	CodeUnsupported Code = "expr_unsupported"  // expr has it, conditions do not
	CodeDecimal     Code = "expr_decimal"      // a function that would lose a decimal's exactness
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

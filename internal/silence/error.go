package silence

import "fmt"

// The fields of a silence that an Error names.
const (
	FieldMatchers = "matchers"
	FieldFrom     = "from"
	FieldUntil    = "until"
	FieldWindow   = "window"
	FieldComment  = "comment"
	FieldAuthor   = "author"
)

// Error is a silence that cannot be: which field of it, and why.
type Error struct {
	Field   string // one of the Field… constants, or a part of one after a dot
	Message string
	Hint    string // the way out; may be empty
}

// Error names the field and the fault.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

func bad(text, message, hint string) *Error {
	const long = 100
	if len(text) > long {
		text = text[:long] + "…"
	}
	return &Error{FieldMatchers, fmt.Sprintf("%q: %s", text, message), hint}
}

package scanners

import (
	"errors"
	"strings"
)

// Code is the stable reason of a failed scan. Code is a log field, a metric label and part of the API.
type Code string

// The codes.
const (
	CodeUnreachable Code = "source_unreachable" // no connection
	CodeTimeout     Code = "probe_timeout"      // the statement took longer than its timeout
	CodeStatement   Code = "probe_invalid"      // the database refuses the statement
	CodeColumn      Code = "probe_column"       // a column name or type that conditions cannot use
	CodeChanged     Code = "probe_changed"      // the result differs from the prepared one
	CodeReadOnly    Code = "probe_writes"       // the read-only transaction refused a write
	CodeParam       Code = "probe_param"        // a parameter does not convert to the prepared type
	CodeTooLarge    Code = "probe_too_large"    // a value or a row has more bytes than the source accepts
	CodeFailed      Code = "probe_failed"       // anything else that the database reports
	CodeTable       Code = "table_unknown"      // the catalogue has no such table
	CodeFunction    Code = "probe_function"     // the probe calls a function that may do more than read
	CodeUnresolved  Code = "probe_unresolved"   // the database does not tell which functions the statement calls
	CodeTime        Code = "source_time"        // the server's clock is not exact, or its zone is not UTC; a warning
	CodeLong        Code = "long_transactions"  // a transaction has been open longer than a rule looks back; a warning
	CodeStage       Code = "table_not_staged"   // a staged table of a session cannot be set up
)

// Error is a failed Prepare or Scan.
type Error struct {
	Code      Code
	Transient bool // trying again may help
	Hint      string
	At        int // the place in the statement's text, in characters from 1; 0 means not known
	Err       error
}

// Error returns the code, the cause and the hint.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Err.Error()
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ColumnFaults are the faults of the columns of one statement.
type ColumnFaults []*Error

// Add adds the fault of a column. Add returns false if err is not such a fault.
func (f *ColumnFaults) Add(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != CodeColumn {
		return false
	}
	*f = append(*f, e)
	return true
}

// Err returns one error for all columns, with the hint of the first. Err returns nil if there are no faults.
func (f *ColumnFaults) Err() error {
	list := *f
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = e.Err.Error()
	}
	return &Error{Code: CodeColumn, Hint: list[0].Hint, Err: errors.New(strings.Join(texts, "; "))}
}

// Changed returns the error of a statement whose result differs from the prepared one. The statement must be prepared
// again; a repeated scan does not help.
func Changed(err error) *Error {
	return &Error{Code: CodeChanged, Hint: "the rule is checked against the source again before its next run", Err: err}
}

// IsTransient tells whether the cause of err may go away by itself.
func IsTransient(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Transient
}

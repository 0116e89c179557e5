package scanners

import "fmt"

// UnknownTable is the error of an Inspector that is asked for a table that is not there.
func UnknownTable(name string) *Error {
	return &Error{Code: CodeTable, Err: fmt.Errorf("there is no table or view %s that the source's user may read", name)}
}

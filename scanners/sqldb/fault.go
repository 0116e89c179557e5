package sqldb

import (
	"fmt"
	"strings"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// Refuse returns the first of the faults that a database's own reading of the statement found, as an error; nil where there is none.
func Refuse(stmt *probe.Statement, faults []probe.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	f := faults[0]
	before := []rune(stmt.Text)[:f.Offset]
	return &scanners.Error{
		Code: scanners.CodeStatement, Hint: f.Hint, At: f.Offset + 1,
		Err: fmt.Errorf("%s (line %d of the probe)", f.Message, 1+strings.Count(string(before), "\n")),
	}
}

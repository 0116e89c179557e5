package scanners

import (
	"fmt"
	"strings"

	"tallyman/rules/row"
)

// Fold puts the names of the columns in lower case and refuses a column without a name and two that fold
// alike. Whether a name can be used in a condition is judged where the condition is compiled.
func Fold(columns []row.Column) error {
	seen := make(map[string]string, len(columns))
	for i := range columns {
		name := columns[i].Name
		folded := strings.ToLower(name)
		if folded == "" {
			return columnError(fmt.Errorf("column %d has no name", i+1))
		}
		if first, found := seen[folded]; found {
			return columnError(fmt.Errorf("two columns are called %q and %q", first, name))
		}
		seen[folded] = name
		columns[i].Name = folded
	}
	if len(columns) == 0 {
		return &Error{Code: CodeStatement, Err: fmt.Errorf("the statement returns no columns")}
	}
	return nil
}

func columnError(err error) *Error {
	return &Error{Code: CodeColumn, Hint: "name it with AS", Err: err}
}

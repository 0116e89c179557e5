package condition

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/parser/utils"
)

// keywords are expr's words that can be no name. (Those with capitals cannot collide: names are folded.)
var keywords = []string{"not", "in", "or", "and", "matches", "contains", "let", "if", "else", "true", "false", "nil"}

// ColumnProblem tells why conditions cannot use a column of that name, or nil. The scanner folds
// names first.
func ColumnProblem(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a column has no name; give it one with AS")
	case !utils.IsValidIdentifier(name):
		return fmt.Errorf("column %q is no name that a condition can hold (letters, digits and _); rename it with AS", name)
	case slices.Contains(keywords, name):
		return fmt.Errorf("column %q is a word of the condition language; rename it with AS", name)
	}
	return nil
}

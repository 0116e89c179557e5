package condition

import (
	"regexp"
	"testing"

	"github.com/expr-lang/expr/builtin"
)

// What stands in for a function of SQL is there, and no function of expr is called wrong.
func TestSQLFunctions(t *testing.T) {
	call := regexp.MustCompile(`([a-zA-Z]+)\(`)
	for name, hint := range sqlFunctions {
		if _, ok := builtin.Index[name]; ok {
			t.Errorf("%s is a function of expr", name)
		}
		for _, m := range call.FindAllStringSubmatch(hint, -1) {
			_, method := timeMethods[m[1]]
			_, measure := durationMethods[m[1]]
			if findFunction(m[1]) == nil && predicateFunctions[m[1]] == nil && m[1] != "date" && m[1] != "Format" && !method && !measure {
				t.Errorf("%s: there is no %s()", name, m[1])
			}
		}
	}
}

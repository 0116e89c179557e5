package condition

import (
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr/builtin"
)

// The guide has every function that compiles, and none besides; every operator of expr but those without use.
func TestReferenceIsComplete(t *testing.T) {
	shown := map[string]bool{}
	for _, chapter := range Reference() {
		for _, e := range chapter.Entries {
			name, _, _ := strings.Cut(e.Signature, "(")
			shown[name] = true
		}
	}
	for _, name := range builtin.Names {
		has := findFunction(name) != nil || predicateFunctions[name] != nil || name == "date"
		if has != shown[name] {
			t.Errorf("%s: there %v, shown %v", name, has, shown[name])
		}
	}
	for name := range functionEntries {
		if !strings.Contains(name, " ") && !slices.Contains(builtin.Names, name) {
			t.Errorf("the guide shows %s, which there is not", name)
		}
	}
}

package condition

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser/utils"
)

// Names returns the names in an expression that columns must have, in the order of the source and each once: for a rule whose columns are
// not known. members are those behind a point, as qty in rows[0].qty. Its error is an *Error.
func Names(src string) (columns, members []string, err error) {
	tree, err := parse(src, nil)
	if err != nil {
		return nil, nil, err
	}
	f := find(tree)
	for _, id := range f.names {
		columns = once(columns, id.Value)
	}
	return columns, f.members, nil
}

// find collects the names of the tree, less those of variables and of functions that are called.
func find(tree ast.Node) *finder {
	f := &finder{}
	ast.Walk(&tree, f)
	f.names = slices.DeleteFunc(f.names, func(id *ast.IdentifierNode) bool { return slices.Contains(f.taken, id.Value) })
	return f
}

// finder collects names.
type finder struct {
	names   []*ast.IdentifierNode
	members []string
	taken   []string // by variables and calls
}

// Visit implements ast.Visitor.
func (f *finder) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		f.names = append(f.names, n)
	case *ast.VariableDeclaratorNode:
		f.taken = append(f.taken, n.Name)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok {
			f.taken = append(f.taken, id.Value)
		}
	case *ast.MemberNode:
		if name, ok := n.Property.(*ast.StringNode); ok && !n.Method {
			f.members = once(f.members, name.Value)
		}
	}
}

// once adds a name that the list does not have.
func once(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

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

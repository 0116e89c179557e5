package condition

import (
	"regexp"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/row"
)

// TextNumbers finds comparisons with <, <=, > and >= between a text column and a number in quotes. Such a comparison
// compares letters, so that "9.5" is greater than "100". The expression must compile. result tells whether the
// expression is over a result.
func TextNumbers(src string, columns []row.Column, result bool) []*Error {
	if result {
		columns = append([]row.Column{{Name: "rows"}, {Name: "row_count"}}, columns...)
	}
	root, err := parse(src, columns)
	if err != nil {
		return nil
	}
	v := &textNumbers{columns: columns}
	ast.Walk(&root, v)
	return v.faults
}

type textNumbers struct {
	columns []row.Column
	faults  []*Error
}

var numberText = regexp.MustCompile(`^\s*[-+]?[0-9]+(\.[0-9]*)?\s*$`)

// Visit implements ast.Visitor.
func (v *textNumbers) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.BinaryNode)
	if !ok || n.Operator == "==" || n.Operator == "!=" || operators[n.Operator] == (verdicts{}) {
		return
	}
	for _, pair := range [][2]ast.Node{{n.Left, n.Right}, {n.Right, n.Left}} {
		number, quoted := pair[1].(*ast.StringNode)
		i := row.Index(v.columns, nameOf(pair[0]))
		if !quoted || i < 0 || v.columns[i].Kind != row.Text || !numberText.MatchString(number.Value) {
			continue
		}
		v.faults = append(v.faults, &Error{
			Offset: n.Location().From, Message: "the text " + v.columns[i].Name + " is compared letter by letter: 9.5 is greater than 100",
			Hint: "write float(" + v.columns[i].Name + ") and the number without quotes, or CAST the column to a number in the SQL",
		})
	}
}

// nameOf returns the column that a node names, by itself or after a point. It returns "" where the node names no
// column.
func nameOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value
	case *ast.MemberNode:
		if property, ok := n.Property.(*ast.StringNode); ok {
			return property.Value
		}
	}
	return ""
}

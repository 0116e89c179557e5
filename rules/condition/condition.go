package condition

import (
	"slices"

	"github.com/expr-lang/expr/builtin"

	"tallyman/rules/row"
)

// Parse checks the syntax alone, for a rule whose source is out of reach. Its error is an *Error.
func Parse(src string) error {
	_, err := parse(src, nil)
	return err
}

// ParseResult is Parse for an expression over a result, in which columns stand behind a row.
func ParseResult(src string) error {
	tree, err := parse(src, resultVariables)
	if err != nil {
		return err
	}
	var faults []*Error
	seen := resultNames
	for _, id := range find(tree).names {
		if _, function := builtin.Index[id.Value]; !function && !slices.Contains(seen, id.Value) {
			faults = append(faults, aloneFault(id.Value, id.Location().From, false))
		}
		seen = append(slices.Clip(seen), id.Value)
	}
	return join(faults)
}

// Compile checks src against the columns, whose names are folded. Its error is an *Error, or several
// of them joined (see Errors).
func Compile(src string, columns []row.Column) (*Program, error) {
	tree, err := parse(src, columns)
	if err != nil {
		return nil, err
	}
	c := newCompiler(src, columns)
	return c.finish(tree)
}

// CompileResult is Compile for an expression over a result as a whole. It sees `rows`, a list of rows with these
// columns, and `row_count`.
func CompileResult(src string, columns []row.Column) (*Program, error) {
	tree, err := parse(src, resultVariables)
	if err != nil {
		return nil, err
	}
	c := newCompiler(src, columns)
	c.result, c.folding.most = true, &resultBounds
	return c.finish(tree)
}

// Package condition compiles the expr expressions of rules into programs that run over rows.
//
// The language is expr's: its parser reads the source, and functions without a form of their own here
// are expr's own. The evaluator is ours, because expr's machine boxes every value and knows neither SQL's
// NULL nor decimals:
//
//   - NULL is three-valued as in SQL. A comparison, a calculation or a function with NULL is NULL; `and` and
//     `or` follow Kleene; a condition that is NULL does not match. `??` gives a default, `== nil` and
//     `!= nil` test it, `a ? b : c` takes c for a NULL a.
//   - Decimals and ints compare and calculate exactly; `/` between decimals rounds to 34 digits, half to
//     even. An int divided by an int is a float, as in expr. A calculation of a decimal with a float
//     is a float; their comparison is exact. A number written with a point is the decimal that it shows
//     beside a decimal, and a float elsewhere.
//   - NaN equals NaN and is more than any number, as in PostgreSQL.
//   - An overflow, a division by zero or a text that is no number is an error of the row.
//   - Texts count in characters, never in bytes.
//
// Every program ends soon and needs little memory, whatever its author wrote: what an evaluation may build and read, and
// how many steps its predicates may take, is capped.
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

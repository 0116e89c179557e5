// Package ruletest runs the tests that rule authors write. A test runs a rule through a series of steps in time,
// without a server. Each step gives the rows or tables of the source, and says what the run must result in. A Trial
// runs the rule (trial.Trial), as the engine would.
//
// Load reads the test files. Run runs them and reports what was not as expected. docs/reference/rule-file.md describes
// the format.
package ruletest

// The codes of this package's problems, in addition to the codes of rule files. docs/reference/error-codes.md describes
// each code.
const (
	CodeNone         = "no_tests"         // There is nothing to run.
	CodeStart        = "bad_start"        // The start is not an instant.
	CodeOrder        = "step_order"       // A step is not later than the step before.
	CodeInput        = "step_input"       // A step does not have exactly one of rows, tables and error.
	CodeExpect       = "nothing_expected" // The test cannot fail.
	CodeTwice        = "test_twice"       // Two tests in a file have the same name.
	CodeRow          = "row_columns"      // Rows have different columns.
	CodeValue        = "row_value"        // A value does not fit its column.
	CodeUnknownRule  = "unknown_rule"
	CodeUnknownScope = "unknown_scope"
	CodeUnknownTable = "unknown_table" // The probe does not read the table.
)

// Package ruletest runs the tests that rule authors write: a rule walks through time, without a server, on rows or
// tables that the test gives, and each step says what must have come of it. The engine's own code does the walking (see
// trial.Trial).
//
// Load reads the test files, Run runs them and says what was not as expected. docs/rule-reference.md describes the
// format.
package ruletest

// The codes of this package's problems, beside those of rule files; docs/error-codes.md describes each.
const (
	CodeNone         = "no_tests"         // there is nothing to run
	CodeStart        = "bad_start"        // not an instant
	CodeOrder        = "step_order"       // a step before, or at the time of, the one above it
	CodeInput        = "step_input"       // not exactly one of rows, tables and error
	CodeExpect       = "nothing_expected" // a test that cannot fail
	CodeTwice        = "test_twice"       // two tests of one name in a file
	CodeRow          = "row_columns"      // rows of different columns
	CodeValue        = "row_value"        // a value that its column does not take
	CodeUnknownRule  = "unknown_rule"
	CodeUnknownScope = "unknown_scope"
	CodeUnknownTable = "unknown_table" // one that the probe does not read
)

// Package rulebook serves the operations on rules: list rules, runs and findings; switch, promote and run rules; read
// rule files again; explain why a finding makes no notice; and try a rule or another text of a rule.
//
// A rule belongs to the warehouses of its scopes, so a caller sees and changes only the scopes that the token allows.
// An operation that changes something outside of the ledger is recorded in the audit first. If the record cannot be
// written, the operation is not done. A preview and a draft write nothing but this record.
//
// The package does not judge rows. The engine and package preview do that, with the same code as live runs.
package rulebook

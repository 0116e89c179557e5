// Package rulebook serves what operators do with rules: look at them, their runs and their findings, switch, promote and run them, read their files
// again, ask why a finding is told or not, and try a rule or another text of a rule.
//
// A rule belongs to the warehouses of its scopes: a caller sees and changes the scopes that the token allows. What is not the ledger's to change is
// recorded before it is done, and not done where that cannot be recorded. A preview and a draft write nothing.
//
// The package judges nothing. The engine and package preview do, by the code that runs rules live.
package rulebook

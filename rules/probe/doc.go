// Package probe reads the SQL of a rule as text. It finds the :name parameters and rewrites them for a driver. It
// refuses SQL that is not a single statement, or that does more than read.
//
// Parse returns a Statement, or all Faults with their places. Lex returns the tokens. MySQL, Oracle and SQLServer
// report SQL that their database reads in another way than Parse. Refuse knows functions that write, wait or reach
// files, and says what to use instead.
//
// Package probe knows tokens, not grammar, so it is not the only protection. The second protection is the scanner's
// read-only transaction. The third is the server's own description of the functions that a probe calls.
package probe

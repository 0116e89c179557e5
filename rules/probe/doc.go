// Package probe reads the SQL of a rule as text: it finds the :name parameters, rewrites them for a driver, and refuses what is not one statement
// that only reads.
//
// Parse gives a Statement, or all Faults with their places. Lex gives the tokens. MySQL, Oracle and SQLServer add what only their database reads in
// another way. Refuse knows the functions that write, wait or reach files, and says what to use instead.
//
// Package probe knows tokens, not grammar. The scanner's read-only transaction is the second lock, and what the server says of the functions that a
// probe calls is the third.
package probe

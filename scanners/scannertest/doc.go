// Package scannertest is the suite that every driver of a source passes: in the tests of the drivers, and against a site's own server by
// "tallyman source test".
//
// Checks holds a driver against the contract of package scanners: values of each kind, parameters, the cap of rows, the limits of cells, rows
// and memory, time-outs, transactions that read only and always end, functions that may write, and errors without secrets. A Dialect has the
// statements of the suite as one kind of database takes them, and opens the database under test. Each check says what it needs: nothing but SELECTs of rows that
// the statement itself makes, tables of its own, or a server that is the suite's alone.
//
// Run has the tests of a driver make every check, and Judge makes those that a server allows. Memory measures what a huge value costs the process.
//
// The helpers Prepare, Rows and One shorten tests that a driver has of its own.
package scannertest

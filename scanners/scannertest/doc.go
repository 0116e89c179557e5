// Package scannertest is the suite that every driver of a source must pass. The tests of the drivers run it, and
// "tallyman source test" runs it against a site's own server.
//
// Checks returns the checks of a driver against the contract of package scanners: values of each kind, parameters, the
// cap of rows, the limits of cells, rows and memory, timeouts, transactions that only read and always end, functions
// that may write, and errors without secrets. A Dialect has the statements of the suite for one kind of database, and
// opens the database under test. Each check says what it needs (Need): only SELECTs of rows that the statement itself
// makes, or tables of its own, or a server that belongs to the suite.
//
// Run makes every check, in the tests of a driver. Judge makes the checks that a server allows. Memory measures how
// much memory a huge value costs the process.
//
// Prepare, Rows and One are helpers for a driver's own tests.
package scannertest

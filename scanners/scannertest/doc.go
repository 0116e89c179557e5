// Package scannertest is the suite that every driver of a source passes.
//
// Run holds a driver against the contract of package scanners: values of each kind, parameters, the cap of rows, the limits of cells, rows and
// memory, time-outs, transactions that read only and always end, functions that may write, and errors without secrets. A driver gives a Dialect: how
// its test database is opened, and how the statements of the suite are written for it. Memory measures what a huge value costs the process.
//
// The helpers Prepare, Rows and One shorten tests that a driver has of its own.
package scannertest

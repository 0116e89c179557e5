// Package sqldbtest is a fake driver of database/sql, to test drivers of databases without a server (SQL Server,
// Oracle).
//
// A Fake answers statements with the columns and rows that a test gave it. It records the statements, and the order and
// end of each transaction.
package sqldbtest

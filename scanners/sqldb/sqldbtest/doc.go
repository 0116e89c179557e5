// Package sqldbtest is a stand-in for a driver of database/sql, for databases that no server is at hand of (SQL Server, Oracle).
//
// A Fake answers statements with the columns and rows that a test gave it, and records the statements, the order and the end of each transaction.
package sqldbtest

// Package rows turns what the ledger is told into what both engines write: columns, and a commit as the
// rows of its tables. It knows no database.
package rows

// Package codec converts between the values of the ledger's contract and the rows of both engines. It has a type for
// each kind of row with its Columns, functions for the arguments of statements, and the plan of a commit, a push or a
// search. Each engine carries out the plan in its own way.
//
// Main types: Plan and PlanResult (notices and deliveries of a commit), Push and Apply (items and their moves), Settle
// (attempts of pushes), Search, Trace. Times become µs, lists become JSON. Text replaces the bytes that a database
// cannot store.
//
// The package knows no database and no SQL.
package codec

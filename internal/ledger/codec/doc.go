// Package codec turns what the ledger is told into what both engines write, and what they read into what the ledger answers: a type for each row with
// its Columns, Args for statements, and the plan of a commit, a push or a search, which both engines carry out in their own way.
//
// Main types: Plan and Made (a commit's notices and deliveries), Push and Apply (items and their moves), Settle (attempts of pushes), Search, Trace.
// Times become µs, lists JSON, texts lose what a database cannot keep (Text).
//
// It knows no database and no SQL.
package codec

// Package postgres keeps the ledger in PostgreSQL (14 or newer), for any number of nodes.
//
// The commit path is built for few round trips and no work per row on the server beyond writing it: new rows
// go in by binary COPY, what must be looked up first (notices that are there, recipients) is asked for whole
// commits in the same round trip as the fence. A transaction that the server ends because two waited for each other is repeated.
//
// Ledger embeds store.Store, which has the methods that SQLite shares; engine.go is the seam. Here are those that many rows or few round trips
// matter to: claims and commits, sent notices, marks, pushes, items. SQL is in sql/, the schema in migrations/.
package postgres

// Package postgres keeps the ledger in PostgreSQL (14 or newer), for any number of nodes.
//
// The commit path needs few round trips, and the server does little per row but write it. New rows go in by binary
// COPY. A commit asks for existing notices and recipients in the same round trip as for the fence. A transaction that
// the server ends because of a deadlock is repeated.
//
// Ledger embeds store.Store, which has the methods that SQLite shares; engine.go connects the two. The other files
// have the methods with many rows or few round trips: claims and commits, sent notices, marks, pushes, items. SQL is
// in sql/, the schema in migrations/.
package postgres

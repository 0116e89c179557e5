// Package postgres keeps the ledger in PostgreSQL (12 or later), for any number of nodes.
//
// The commit path is built for few round trips and no work per row on the server beyond writing it: new rows
// go in by binary COPY, what must be looked up first (notices that are there, recipients) is asked for whole
// commits in the same round trip as the fence. SQL is in sql/, the schema in migrations/.
package postgres

// Package sqlite keeps the ledger in one SQLite file, for one node.
//
// A lock on a second file keeps other processes out. The operating system releases the lock when the process ends, in
// whatever way. All writes go through one connection, so a transaction never waits for another inside SQLite. Reads
// have connections of their own, which WAL mode allows beside the writer.
//
// synchronous is FULL. In WAL mode the weaker NORMAL would lose the last commits in a power failure. A notice that
// was sent would then be forgotten and sent again.
//
// Ledger embeds store.Store, which has the methods that PostgreSQL shares; engine.go connects the two. Lists are
// arguments as JSON arrays. SQL is in sql/, the schema in migrations/.
package sqlite

// Package sqlite keeps the ledger in one SQLite file, for one node.
//
// A lock on a file beside it keeps a second process out; the operating system gives it back when the process
// ends, however it ends. All writing goes through one connection, so that a transaction never waits for
// another inside SQLite; reading has connections of its own, which WAL lets run beside it. synchronous is FULL:
// in WAL mode the weaker NORMAL would lose the last commits with the power, and a notice that was sent
// would be forgotten and sent again.
//
// Ledger embeds store.Store, which has the methods that PostgreSQL shares; engine.go is the seam. Lists are arguments as JSON arrays. SQL is in
// sql/, the schema in migrations/.
package sqlite

// Package enginetest has the surroundings of the engine's tests: a ledger in memory, a source and a sink. All of them
// use package time, so they work inside a testing/synctest bubble.
//
// The ledger implements engine.Ledger with the same fences as a real ledger. It passes the part of the ledgers' suite
// that the engine relies on (ledgertest.RunEngine). Another test calls this ledger and an SQLite ledger alike, in
// random order, and compares the answers. All subscribers get every notice. The ledger has no queues, no audit, and no
// record of what users have read or acked.
package enginetest

// Package enginetest has what the engine's tests run on: a ledger in memory, a source and a sink. All of them keep time
// by package time, so they work inside a testing/synctest bubble.
//
// The ledger keeps what engine.Ledger asks for, with the same fences, and passes the part of the ledgers' suite that
// the engine relies on (ledgertest.RunEngine). Another test asks it and a ledger of SQLite the same, in random order,
// and compares the answers. All its subscribers get every notice. It has no queues, marks or audit.
package enginetest

// Package enginetest has what a test of the engine needs instead of servers: a ledger in memory that follows the
// contract, a source of given rows, and a sink that records and fails on demand. Their time is
// time.Now, so that they live in a synctest bubble.
//
// The ledger in memory implements engine.Ledger and what package why reads. For claims, commits, findings, lanes and deliveries a test asks it and
// a ledger of SQLite the same, in random order, and compares the answers. It prunes nothing and has no queues, marks or audit.
package enginetest

// Package enginetest has what a test of the engine needs instead of servers: a ledger in memory that follows the
// contract, a source of given rows, and a sink that records and fails on demand. Their time is
// time.Now, so that they live in a synctest bubble.
package enginetest

// Package lineage notices that a ledger was restored from a copy, or replaced by a server that lags behind.
//
// Each node has a Branch: a random name and a number that the node raises in the ledger every five seconds. Indexes
// in Redis store the branch and the number as a mark (package sinks/recovery). A ledger that does not know a mark has
// lost the commits after the mark. The package does not judge indexes and restores nothing; docs/adr/lineage.md has
// the decision.
package lineage

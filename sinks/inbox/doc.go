// Package inbox is the sink that clients poll: an index in Redis of the notices of each subscriber in each warehouse.
// Redis may lose the index. The ledger records which notice got which score, and the index is written back from there.
//
// A score is a place in the order of delivery, in µs. Each warehouse has a clock, which is the highest score given so
// far.
//
//	keys.go        the names of all keys; docs/reference/redis-keys.md describes them
//	scripts/       what Redis does in one step, a file each, with its contract
//	deliver.go     notices in: batches, scores, receipts       (batch.go, wide.go, drop.go)
//	poll.go        notices out: pages, cursors, counts         (slice.go, clock.go, wait.go, watch.go)
//	mark.go        notices that users have read and acked
//	sweep.go       removes expired notices, and marks of notices that are gone
//	rebuild.go     what sinks/recovery writes back after a loss
//
// Run keeps all of it going. Without Run a node serves nothing.
package inbox

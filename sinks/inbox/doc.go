// Package inbox is the sink that clients poll: an index in Redis of what each subscriber has been told in each
// warehouse. Redis may lose it; the ledger has recorded which notice got which score, and
// the index is written back from there.
//
//	keys.go        the names of all keys; docs/reference/redis-keys.md describes them
//	scripts/       what Redis does in one step, a file each, with its contract
//	deliver.go     notices in: batches, scores, receipts       (batch.go, wide.go, drop.go)
//	poll.go        notices out: pages, cursors, counts         (slice.go, clock.go, wait.go, watch.go)
//	mark.go        what users have read and acked
//	sweep.go       what has expired goes, and marks of what is gone
//	rebuild.go     what sinks/recovery writes back after a loss
//
// Run keeps all of it going; without it a node serves nothing.
package inbox

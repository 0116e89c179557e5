// Package recovery looks after an index in Redis that can be rebuilt from the ledger: the inbox is one, a queue is
// another. Redis may lose the index at any time, with or without an error. A Keeper notices the loss, and has the index
// written back.
//
//	keeper.go      checks once a second that Redis still holds the index, and refuses a Redis that evicts keys
//	watch.go       notices a server that was restarted or replaced
//	lineage.go     notices a ledger that was restored: Redis must not know more than its ledger
//	generation.go  which epoch this node serves, if any, and work in it
//	recover.go     finds the epoch to serve: that of the ledger if Redis still holds it, else a new one. A new epoch
//	               begins under the ledger's lease, and is written back
//
// The contents of the index are the business of its Contents.
package recovery

// Package recovery looks after an index in Redis that can be rebuilt from the ledger: the inbox is one, a queue is
// another. Redis may lose the index at any time, with or without an error. A Keeper notices the loss, and has the index
// written back.
//
//	keeper.go      checks once a second that Redis still holds the index, and refuses a Redis that evicts keys
//	watch.go       notices a server that was restarted or replaced
//	lineage.go     notices a ledger that was restored: Redis must not know more than its ledger
//	generation.go  knows which epoch this node serves, if any, and runs calls in that epoch
//	recover.go     finds the epoch to serve: the ledger's epoch if Redis still holds it, else a new one. A new epoch
//	               begins under the ledger's lease, and is written back
//
// Contents checks and writes the contents of an index.
package recovery

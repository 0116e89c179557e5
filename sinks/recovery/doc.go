// Package recovery is the life of an index in Redis that can be rebuilt from the ledger: the inbox is one, a queue is
// another. Redis may lose what it holds at any time, and say so or not; a Keeper notices it and has the index written back.
//
//	keeper.go      looks once a second whether Redis is still what it was, and refuses one that throws keys away
//	watch.go       notices a server that was restarted or replaced
//	lineage.go     notices a ledger that was restored: Redis must not know more than its ledger
//	generation.go  which epoch this node serves, if any, and work in it
//	recover.go     finds the epoch to serve: that of the ledger if Redis still holds it, else a new one, which it begins
//	               under the ledger's lease and has written back
//
// What the index holds is the business of its Contents.
package recovery

// Package recovery is the life of an index in Redis that can be rebuilt from the ledger: the inbox is one, a queue is
// another. Redis may lose what it holds at any time, and say so or not; a Keeper notices it and has the index written back.
//
//	generation.go  which epoch this node serves, if any        (watch.go notices a changed server)
//	keeper.go      looks once a second whether Redis is still what it was
//	recover.go     finds the epoch to serve: that of the ledger if Redis still holds it, else a new one
//	renew.go       begins the new one under the ledger's lease, and has it written back
//	serve.go       work in the epoch in force, as patient as a client is
//	policy.go      refuses a Redis that throws keys away
//
// What the index holds is the business of its Contents.
package recovery

// Package queue is the sink of work: a notice becomes an item that one worker takes, finishes or puts off.
//
// Redis holds a queue as it stands, the ledger what can never be lost:
//
//	push   → ledger (items, one transaction for many calls) → enqueue.lua → answer
//	step   → step.lua → answer, and in the same script an entry in the outbox: what has moved
//	drain  → the outbox, in its order and each entry once → ledger (traces, states, ends)
//
// So an item is in the ledger before its push is answered, every move is recorded in the order in which it happened whatever
// node dies, and what Redis can lose is the outbox that was not drained yet: a quarter of a second. A lost Redis is
// written back from the ledger: unfinished items with their states, finished ones only as the dedupe keys that they hold.
//
// A worker has an item under a lease, which ends at a time. step.lua gives leases, and work.lua ends those whose time is over. Each lease of an item has
// the next attempt number, an operation names its attempt, and a script is one step of Redis: of two workers only the one with the
// latest attempt can finish the item.
//
// A queue has a test twin: the same keys under another name, the same rules, its own items.
package queue

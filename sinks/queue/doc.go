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
// A queue has a test twin: the same keys under another name, the same rules, its own items.
package queue

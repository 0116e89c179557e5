// Package queue is the sink of work: a notice becomes an item. One worker leases the item, and finishes it or puts it
// off.
//
// Redis holds the present state of a queue. The ledger holds what must never be lost:
//
//	push   → ledger (items, one transaction for many calls) → enqueue.lua → answer
//	step   → step.lua → answer; the same script appends the moves of the items to the outbox, a list in Redis
//	drain  → one node writes the entries of the outbox to the ledger (traces, states, ends), in order, each entry once
//
// So an item is in the ledger before its push is answered. Every move is recorded in the order in which it happened,
// whichever node dies. If Redis is lost, only the part of the outbox that was not drained yet is lost: about a quarter
// of a second. The queue is then written back from the ledger: unfinished items with their states, and finished items
// only as the dedupe keys that they still hold.
//
// A worker holds an item under a lease, which ends at a set time. step.lua gives leases, and work.lua ends leases that
// are over. Each lease of an item has the next attempt number, and an operation names the attempt that it belongs to. A
// script runs in Redis as one step. So only the worker with the latest attempt can finish the item.
//
// A move is a change of an item's state. An item's moves are numbered from 1 and make up its trace.
//
// Each queue has a test twin: a second queue under keys of its own, with the same rules and its own items.
package queue

// Package item has the types of a work queue for the parts that do not run the queue: the ledger, the API, the
// command line.
//
// Item is an item in its present state, Record an item as the ledger keeps it, Move one change of state, Op an
// operation on an item. Journal and Records are what the ledger keeps of items; both are parts of ledger.Queues.
// Sizes, Query and Page are views of a queue from outside.
//
// The types hold values and their limits. sinks/queue decides which item is served next and what an operation does.
package item

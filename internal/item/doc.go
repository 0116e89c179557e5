// Package item is what a queue holds, for those who do not hold it: the ledger, the API, the command line.
//
// Item is an item as it stands, Record an item as the ledger keeps it, Move one change of its state, Op an operation on it. Journal and Records are what
// the ledger promises to keep of items; both are parts of ledger.Queues. Sizes, Query and Page are how a queue looks from outside.
//
// The types hold values and their limits. Which item is served next, and what an operation does, is in sinks/queue.
package item

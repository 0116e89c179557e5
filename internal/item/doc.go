// Package item has the types of a work queue for the parts that do not run the queue: the ledger, the API, the
// command line.
//
// Item is an item in its present state. Record is an item as the ledger keeps it. Move is one change of state, and Op
// is an operation on an item. Journal and Records are the parts of ledger.Queues that keep and read items. Sizes, Query
// and Page are views of a queue from outside.
//
// The types hold values and their limits. sinks/queue decides which item is served next and what an operation does.
package item

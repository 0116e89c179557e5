// Package queues serves the work queues: producers push items, workers lease items and report results, and operators
// inspect and repair.
//
// A worker is the subject of a token together with the name of a device. A worker sees the items of the token's
// warehouses. In a step the queue does the operations in their order, each with its own outcome, and then leases items.
// With wait the server holds back the answer until there is an item. A request about a single item is a step with one
// operation.
//
// The package keeps no state. The queues (sinks/queue) have the items, and the ledger has the trace of each item.
package queues

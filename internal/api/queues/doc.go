// Package queues serves work: producers push items, workers lease them and say what became of them, operators look and mend.
//
// A worker is the subject of a token, together with the name of a device. A worker sees the items of the token's warehouses. The operations of a step are done in
// their order, each with its own outcome, and then items are leased, for which an answer may be held back. Operations that are about one item are
// steps of one operation.
//
// The package keeps nothing. A queue (sinks/queue) does, and its ledger has the trace of each item.
package queues

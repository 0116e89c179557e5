// Package delivery has what the ledger and the sinks say to each other: a notice on its way to a sink, the receipt that the sink gives, the claim of a
// delivery to a push channel and how an attempt ended, the strategies, and what a rebuild of an index reads back.
//
// The types only hold values. Which delivery is due the ledger decides; how one is made the sinks do.
package delivery

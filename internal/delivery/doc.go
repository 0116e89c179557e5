// Package delivery has the types and interfaces between the ledger and the sinks.
//
// A Delivery is a notice on its way to a sink. A Receipt is the sink's answer. A PushClaim is the claim of a delivery
// to a push channel, and a Settlement records how the attempt ended. Strategy says how often and how long a push
// channel is tried. Lanes, Pushes, IndexRecord, InboxRecord, MarkRecord and Addresses are the parts of the ledger that
// sinks call.
//
// The types only hold values. The ledger decides which delivery is due; the sinks make the attempts.
package delivery

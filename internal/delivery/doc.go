// Package delivery has what the ledger and the sinks say to each other.
//
// A Delivery is a notice on its way to a sink. A Receipt is what the sink answers. PushClaim and Settlement are the claim of a delivery to a push channel
// and how the attempt ended. Strategy is one of the four ways in which a notice is pushed, with its retries. Lanes, Pushes, Claims and the records of
// the inbox are the parts of the ledger that sinks call.
//
// The types only hold values. The ledger decides which delivery is due; the sinks make it.
package delivery

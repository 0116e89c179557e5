// Package session keeps the session of a node: the name in which the node holds firings, lanes, deliveries to push channels and the right to write an index back.
//
// A [Keeper] takes the session from the ledger, renews its lease, and says at every moment whether the session is in force: whether no other node can have ended it
// yet. It buries the sessions of nodes that are gone. It promises that nobody is told that the session is in force later than an eighth of a lease before the
// ledger would let another node bury it. It does not stop the work of its node: who works asks, and ends with the contexts that the keeper gives out.
// docs/adr/node-sessions.md tells why.
package session

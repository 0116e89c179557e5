// Package session keeps the session of a node. In the name of its session a node holds firings, lanes, deliveries to
// push channels, and the right to write an index back.
//
// A [Keeper] takes the session from the ledger and renews its lease. At every moment it knows whether the session is in
// force, that is, whether no other node can have ended it yet. It also buries the sessions of nodes that are gone.
//
// The keeper promises a safety margin: it reports a session as in force only until an eighth of a lease before the
// ledger lets another node bury that session.
//
// The keeper does not stop the work of its node. The code that works asks the keeper before each step, and stops when
// the keeper's channels close. docs/adr/node-sessions.md has the reasons.
package session

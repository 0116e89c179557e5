// Package deliveries serves notices on their way to sinks: how deliveries stand, what operators do to them, and how the sinks do.
//
// Changes go through the ledger, which records who asked for them. A request names deliveries by their numbers or chooses them by a filter, and
// what a filter chooses is changed in portions. A caller sees the deliveries of the warehouses that the token allows.
//
// The package tries no delivery itself: the engine's lanes and the push channels do, and Deps.Wake tells them.
package deliveries

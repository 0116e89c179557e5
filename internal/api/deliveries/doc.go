// Package deliveries serves deliveries, that is, notices on their way to sinks: their state, the operations to retry
// and cancel them, and the state of the sinks.
//
// The ledger makes the changes and records their authors. A request names deliveries by number or chooses them by a
// filter. The deliveries of a filter are changed in portions. A caller sees the deliveries of the warehouses that the
// token allows.
//
// The package does not deliver. The engine's lanes and the push channels do, and Deps.Wake wakes them.
package deliveries

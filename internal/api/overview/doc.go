// Package overview serves the state of the whole system at a glance, as an answer or as a stream: rules by health,
// notices by hour, findings by warehouse, queues, sinks and nodes. The package also serves the status of the node, the
// history for charts, and the latest failed runs.
//
// A lookout reads the state at most every two seconds, for all callers together. The result is an outlook, and each
// caller gets a form of it for the caller's warehouses. If a part cannot be read, the outlook keeps its earlier values
// and names the part as stale.
//
// The package changes nothing except the samples of the history. Metrics (internal/api/metrics) are computed
// separately.
package overview

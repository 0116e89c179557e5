// Package metrics has the metrics of a node. docs/reference/api.md lists the names of the metrics.
//
// Type Metrics counts events of the engine and the API. Node, Rules, Queues and Pushes are collectors: they read the
// state when Prometheus scrapes. Each collector that asks a database or a queue has a time-out of its own. A value that
// cannot be read in that time is missing from the scrape, or has its last known value.
package metrics

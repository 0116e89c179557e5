// Package metrics has the metrics of a node. docs/reference/api.md lists their names.
//
// Type Metrics counts events of the engine and the API. Node, Rules, Queues and Pushes are collectors: they read the
// state when Prometheus scrapes. A scrape waits for a database at most for its own time-out. A value that cannot be
// read in that time is missing from the scrape, and an error counter counts the failure.
package metrics

// Package metrics has the metrics of a node, under the names that docs/reference/api.md lists.
//
// Metrics counts what the engine and the API do. Node, Rules, Queues and Pushes are collectors: they ask for the state when the page is scraped. A
// scrape never waits for a database longer than its own time-out: a figure that cannot be read is missing, and an error counter says so.
package metrics

// Package overview shows how everything is at a glance: rules by health, notices by the hour, findings by warehouse, queues, sinks and nodes, as an
// answer or as a stream. It serves the status of the node, too.
//
// A lookout looks at most every two seconds, whoever asks; what it sees is an outlook, which is then narrowed to the warehouses of each caller. A part
// that does not answer is as it was before, and the overview names it as stale. The ledger counts hours that are over once.
//
// The package changes nothing. Metrics (internal/api/metrics) are made apart from it.
package overview

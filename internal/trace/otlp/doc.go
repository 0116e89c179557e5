// Package otlp sends spans to a collector by OTLP over HTTP.
//
// Open makes an Exporter from the configuration. Spans go in batches from a bounded queue, so a slow or stopped
// collector does not delay a run: spans that do not fit into the queue are dropped. Headers may hold secrets, and no
// log shows them.
package otlp

// Package otlp sends spans to a collector by OTLP over HTTP.
//
// Open makes an Exporter from the configuration. Spans go in batches, from a bounded queue: a collector that is slow or away costs a run nothing, and
// spans that do not fit are dropped. Headers may hold secrets, which no log shows.
package otlp

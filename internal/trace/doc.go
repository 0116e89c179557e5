// Package trace makes the OpenTelemetry spans of a run and its consequences: claim, scan, judge, commit, and each
// delivery of the run's notices, on any node at any later time. Nothing is stored for this: the id of the trace is the
// id of the run (notice.Origin), so a delivery computes its trace from its notice. Package trace/otlp sends the spans
// to a collector.
//
// A Tracer makes a Span for a Run, for a step of a run, for a Call of a sink, for a sent notice and for a request. The
// provider of spans must use the id generator IDs. A nil *Tracer makes no spans, and costs one comparison.
package trace

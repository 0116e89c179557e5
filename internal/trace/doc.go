// Package trace makes the OpenTelemetry spans of a run and of what follows from it: claim, scan, judge, commit, and each delivery of
// its notices, whenever and wherever that happens. The id of a trace is that of the run (notice.Origin), so a delivery finds its trace
// by the notice that it carries, and nothing is stored. Package trace/otlp sends the spans away.
//
// A Tracer makes a Span for a Run, for a step of one, for a Call of a sink, for a notice that was sent and for a request. IDs are the ids that the
// provider of spans has to use. A nil *Tracer makes no spans, and costs a comparison.
package trace

package trace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// mostIDs is how many notices a span names.
const mostIDs = 20

// Call is one call of a sink.
type Call struct {
	Sink      string
	Warehouse string // of the inbox
	Attempt   int    // of the first of the batch; 0 = not counted
	Batch     []delivery.Delivery
}

// Deliver begins a span in the trace of each origin that has notices in the call. The context carries the one of the first notice, also where
// that is not kept, for the traceparent of a webhook; the others are linked with it. The function tells them how the call went.
func (t *Tracer) Deliver(ctx context.Context, c *Call) (context.Context, func(error)) {
	if t == nil || len(c.Batch) == 0 {
		return ctx, func(error) {}
	}
	var spans []Span
	var first trace.SpanContext
	for i, g := range groups(c.Batch) {
		parent := t.parent(g.origin)
		made := trace.ContextWithRemoteSpanContext(ctx, parent)
		if parent.IsSampled() {
			_, span := t.spans.Start(made, "deliver "+c.Sink, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(c.attributes(g)...))
			if i > 0 && first.IsSampled() {
				span.AddLink(trace.Link{SpanContext: first})
			}
			spans, parent = append(spans, Span{span}), span.SpanContext()
		}
		if i == 0 {
			first = parent
		}
	}
	return trace.ContextWithSpanContext(ctx, first), func(err error) {
		for i := range spans {
			spans[i].End(err)
		}
	}
}

// group is what one origin has in a call.
type group struct {
	origin  notice.Origin
	ids     []string
	notices int
}

func groups(batch []delivery.Delivery) []*group {
	var list []*group
	known := map[notice.Origin]*group{}
	for i := range batch {
		o := batch[i].Notice.Origin()
		g := known[o]
		if g == nil {
			g = &group{origin: o}
			known[o], list = g, append(list, g)
		}
		if g.notices++; g.notices <= mostIDs {
			g.ids = append(g.ids, batch[i].Notice.ID)
		}
	}
	return list
}

func (c *Call) attributes(g *group) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		attribute.String("tallyman.sink", c.Sink), attribute.StringSlice("tallyman.notice.ids", g.ids),
		attribute.Int("tallyman.notices", g.notices), attribute.Int("tallyman.batch", len(c.Batch)),
	}
	if c.Warehouse != "" {
		attrs = append(attrs, attribute.String("tallyman.warehouse", c.Warehouse))
	}
	if c.Attempt > 0 {
		attrs = append(attrs, attribute.Int("tallyman.attempt", c.Attempt))
	}
	return attrs
}

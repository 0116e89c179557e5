package trace

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// Tracer makes spans. A nil Tracer makes none.
type Tracer struct {
	spans   trace.Tracer
	sampled func(trace.TraceID) bool
}

// New makes a tracer on a provider that uses IDs. sampled says which traces are kept. The provider must decide in the
// same way, because sampled also decides for spans that other nodes made.
func New(provider trace.TracerProvider, sampled func(trace.TraceID) bool) *Tracer {
	return &Tracer{spans: provider.Tracer("tallyman"), sampled: sampled}
}

// Span is one step of a trace. All methods of a nil Span do nothing.
type Span struct{ span trace.Span }

// Set adds attributes.
func (s *Span) Set(attrs ...attribute.KeyValue) {
	if s != nil {
		s.span.SetAttributes(attrs...)
	}
}

// Fail marks the step as failed. The text must not contain a secret.
func (s *Span) Fail(text string) {
	if s != nil {
		s.span.SetStatus(codes.Error, text)
	}
}

// End ends the step. With an error the step has failed.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// Run is the first step of a trace.
type Run struct {
	Rule, Scope, Node string
	Due               time.Time
	Started           time.Time // On the clock of warehouses, in µs. The notices carry the same time.
	Claiming, Claimed time.Time // When the node asked for the claim and got it, on the machine's clock.
	Repeated          bool      // Another node had the firing before and did not finish it.
	// Before is the previous pass of the same claim: the firing had more rows than one pass takes. nil = no earlier pass.
	Before *notice.Origin
}

// Run begins the span of a run, and makes the span of its claim.
func (t *Tracer) Run(ctx context.Context, r *Run) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	o := notice.RunOrigin(r.Rule, r.Scope, r.Started)
	var links []trace.Link
	if r.Before != nil {
		links = []trace.Link{{SpanContext: t.parent(*r.Before)}}
	}
	ctx, span := t.root(ctx, o, "run "+r.Rule, r.Claiming, links,
		attribute.String("tallyman.rule", r.Rule), attribute.String("tallyman.scope", r.Scope), attribute.String("tallyman.node", r.Node),
		attribute.String("tallyman.due", r.Due.UTC().Format(time.RFC3339Nano)), attribute.Bool("tallyman.repeated", r.Repeated))
	if !r.Claimed.IsZero() {
		_, claim := t.spans.Start(ctx, "claim", trace.WithTimestamp(r.Claiming))
		claim.End(trace.WithTimestamp(r.Claimed))
	}
	return ctx, span
}

// Step begins a span inside the span that ctx carries.
func (t *Tracer) Step(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.spans.Start(ctx, name)
	return ctx, &Span{span}
}

// Sent makes the root span for deliveries of a sent notice. The span is linked to the request in ctx.
func (t *Tracer) Sent(ctx context.Context, n *notice.Notice, began time.Time, notices int) {
	if t == nil {
		return
	}
	_, span := t.root(ctx, n.Origin(), "send", began, []trace.Link{trace.LinkFromContext(ctx)}, attribute.Int("tallyman.notices", notices))
	span.End(nil)
}

func (t *Tracer) root(ctx context.Context, o notice.Origin, name string, began time.Time, links []trace.Link, attrs ...attribute.KeyValue) (context.Context, *Span) {
	ctx, span := t.spans.Start(withRoot(ctx, o), name, trace.WithNewRoot(), trace.WithTimestamp(began), trace.WithLinks(links...), trace.WithAttributes(attrs...))
	return ctx, &Span{span}
}

// parent returns the first span of an origin's trace. Another node may have made that span.
func (t *Tracer) parent(o notice.Origin) trace.SpanContext {
	flags := trace.TraceFlags(0).WithSampled(t.sampled(o.ID))
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: o.ID, SpanID: o.Span, TraceFlags: flags, Remote: true})
}

// mostIDs is the maximum number of notice ids in the attributes of a span.
const mostIDs = 20

// Call is one call of a sink.
type Call struct {
	Sink      string
	Warehouse string // For the inbox.
	Attempt   int    // Attempt of the first delivery in the batch; 0 = attempts are not counted.
	Batch     []delivery.Delivery
}

// Deliver begins a span in the trace of each origin that has notices in the call. The returned context carries the span
// of the first notice, even where that trace is not kept, for the traceparent of a webhook. The other spans are linked
// to the first span. The returned function ends the spans with the result of the call.
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

// group is the notices of one origin in a call.
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

// Request begins the span of a request that was routed to the pattern. If the request names a trace, the span continues
// that trace. Call end with the status of the answer.
func (t *Tracer) Request(r *http.Request, pattern string) (ctx context.Context, end func(status int)) {
	if t == nil {
		return r.Context(), func(int) {}
	}
	ctx = propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.spans.Start(ctx, pattern, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("http.route", pattern), attribute.String("url.path", r.URL.Path)))
	return ctx, func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		span.End()
	}
}

// Inject writes the traceparent header (W3C Trace Context) of the span in ctx. Without a span it writes nothing.
func Inject(ctx context.Context, header http.Header) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
}

// IDs generates the ids of spans. A trace that begins with an origin gets the ids of the origin; other ids are random.
type IDs struct{}

// rootKey is the context key of the origin for the next trace.
type rootKey struct{}

func withRoot(ctx context.Context, o notice.Origin) context.Context {
	return context.WithValue(ctx, rootKey{}, o)
}

// NewIDs returns the ids of a new trace and of its first span.
func (IDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if o, ok := ctx.Value(rootKey{}).(notice.Origin); ok {
		return o.ID, o.Span
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // it never fails
	return id, newSpanID()
}

// NewSpanID returns the id of another span of a trace.
func (IDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return newSpanID() }

func newSpanID() trace.SpanID {
	var id trace.SpanID
	_, _ = rand.Read(id[:])
	return id
}

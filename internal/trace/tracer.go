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

// Tracer makes spans. Nil makes none.
type Tracer struct {
	spans   trace.Tracer
	sampled func(trace.TraceID) bool
}

// New makes a tracer on a provider whose ids are made by IDs. sampled says which traces are kept; the provider must decide alike.
func New(provider trace.TracerProvider, sampled func(trace.TraceID) bool) *Tracer {
	return &Tracer{spans: provider.Tracer("tallyman"), sampled: sampled}
}

// Span is one step. Nil is none.
type Span struct{ span trace.Span }

// Set adds what has become known.
func (s *Span) Set(attrs ...attribute.KeyValue) {
	if s != nil {
		s.span.SetAttributes(attrs...)
	}
}

// Fail says that the step came to nothing; the text holds no secret.
func (s *Span) Fail(text string) {
	if s != nil {
		s.span.SetStatus(codes.Error, text)
	}
}

// End ends the step, as failed where there is an error.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// Run is what a trace begins with.
type Run struct {
	Rule, Scope, Node string
	Due               time.Time
	Started           time.Time // on the clock of warehouses, µs: the notices carry it
	Claiming, Claimed time.Time // on the machine's clock: when the claim was asked for and given
	Repeated          bool      // a node had the firing before and did not finish it
	// Before is the pass before this one, whose claim it shares: there were more rows than one pass takes. nil = none.
	Before *notice.Origin
}

// Run begins the span of a run, and makes that of its claim.
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

// Step begins a span inside the one that ctx carries.
func (t *Tracer) Step(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.spans.Start(ctx, name)
	return ctx, &Span{span}
}

// Sent makes the span that deliveries of a sent notice hang on, linked with the request that ctx carries.
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

// parent is the first span of an origin's trace, whoever has made it.
func (t *Tracer) parent(o notice.Origin) trace.SpanContext {
	flags := trace.TraceFlags(0).WithSampled(t.sampled(o.ID))
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: o.ID, SpanID: o.Span, TraceFlags: flags, Remote: true})
}

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

// Request begins the span of a request that was routed to the pattern. It goes on with the caller's trace, where the caller has
// named one. end is told the status of the answer.
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

// Inject writes the traceparent (W3C Trace Context) of the span that ctx carries; nothing where it carries none.
func Inject(ctx context.Context, header http.Header) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
}

// IDs makes the ids of spans: those of an origin where a trace begins with one, random ones otherwise.
type IDs struct{}

// rootKey is the context's key of the origin that the next trace begins with.
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

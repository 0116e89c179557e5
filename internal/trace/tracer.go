package trace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

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

package trace

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"

	"tallyman/internal/notice"
)

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

package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"tallyman/internal/trace"
)

// Options are the settings of an Exporter.
type Options struct {
	Endpoint string            // Full URL, such as http://collector:4318/v1/traces.
	Headers  map[string]string // Headers of each call.
	Sample   float64           // Share of the traces that is kept, 0 to 1.
	Version  string
	Node     string
	Logger   *slog.Logger
}

// Exporter collects spans and sends them when a batch is full or after some seconds. While the collector is down the
// spans are lost and nothing else happens, because the queue is bounded.
type Exporter struct {
	*trace.Tracer

	provider *sdk.TracerProvider
}

// Open makes an exporter. The exporter connects when it has the first spans to send. The caller must close it.
func Open(ctx context.Context, o *Options) (*Exporter, error) {
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Endpoint), otlptracehttp.WithHeaders(o.Headers),
		otlptracehttp.WithTimeout(sendTimeout), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: 2 * sendTimeout,
		}))
	if err != nil {
		return nil, fmt.Errorf("the exporter of traces: %w", err)
	}
	sampler := sdk.TraceIDRatioBased(o.Sample)
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(&exporter{SpanExporter: client, log: o.Logger}, sdk.WithBatchTimeout(batchFor)),
		sdk.WithIDGenerator(trace.IDs{}),
		sdk.WithSampler(sdk.ParentBased(sampler)),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "tallyman"),
			attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Node))),
	)
	sampled := func(id oteltrace.TraceID) bool {
		return sampler.ShouldSample(sdk.SamplingParameters{ParentContext: context.Background(), TraceID: id}).Decision == sdk.RecordAndSample
	}
	return &Exporter{Tracer: trace.New(provider, sampled), provider: provider}, nil
}

const (
	batchFor    = 2 * time.Second
	sendTimeout = 10 * time.Second
	closeFor    = 5 * time.Second
)

// Close sends the remaining spans, for at most closeFor.
func (e *Exporter) Close() error {
	ctx, done := context.WithTimeout(context.Background(), closeFor)
	defer done()
	return e.provider.Shutdown(ctx)
}

// exporter logs only the first failure and the first success after it, not every failure.
type exporter struct {
	sdk.SpanExporter

	log    *slog.Logger
	mu     sync.Mutex
	failed bool
}

// ExportSpans sends the spans. If the call fails, the spans are lost.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	if (err != nil) == e.failed {
		return nil
	}
	if e.failed = err != nil; e.failed {
		e.log.Warn("Traces could not be sent. Traces are lost until the collector answers.", "error", err)
	} else {
		e.log.Info("Traces are sent again.")
	}
	return nil
}

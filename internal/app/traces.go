package app

import (
	"context"

	"tallyman/internal/trace/otlp"
)

// openTraces makes what sends traces, where the configuration names a collector. Without one no span is ever made.
func (a *App) openTraces(ctx context.Context) error {
	t := a.cfg.Telemetry.Traces
	if t.Endpoint == "" {
		return nil
	}
	headers := make(map[string]string, len(t.Headers))
	for name, value := range t.Headers {
		headers[name] = value.Reveal()
	}
	exporter, err := otlp.Open(ctx, &otlp.Options{
		Endpoint: string(t.Endpoint), Headers: headers, Sample: float64(t.Sample), Version: a.opts.Version, Node: a.opts.Node, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.exporter, a.tracer = exporter, exporter.Tracer
	return nil
}

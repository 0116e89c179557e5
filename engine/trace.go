package engine

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/trace"
)

// origin is what the notices of the pass are traced back to.
func (p *pass) origin() notice.Origin { return notice.RunOrigin(p.rule.ID, p.rule.Scope, p.Started) }

// id is the run's in the logs. Deliveries log it too, so that a notice is found from its firing to its end.
func (p *pass) id() string { return p.origin().String() }

// trace begins the trace of the pass. The first one has the claim in it, the others are linked with the one before.
func (p *pass) trace(ctx context.Context, h *claimHandle) (context.Context, *trace.Span) {
	if p.e.opts.Tracer == nil {
		return ctx, nil
	}
	run := &trace.Run{
		Rule: p.rule.ID, Scope: p.rule.Scope, Node: p.e.opts.Node, Due: p.Due, Started: p.Started,
		Claiming: p.Begun, Repeated: h.claim.Repeated, Before: h.traced,
	}
	if h.traced == nil {
		run.Claiming, run.Claimed = h.asked, h.given
	}
	origin := p.origin()
	h.traced = &origin
	return p.e.opts.Tracer.Run(ctx, run)
}

// describe tells the trace how the run ended.
func describe(span *trace.Span, run *ledger.Run) {
	span.Set(attribute.String("tallyman.outcome", string(run.Outcome)), attribute.Int("tallyman.rows", run.Rows),
		attribute.Int("tallyman.matched", run.Matched), attribute.Int("tallyman.notices", run.Notices))
	if run.Outcome == ledger.OutcomeFailed {
		span.Fail(run.Error)
	}
}

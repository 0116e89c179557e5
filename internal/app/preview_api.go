package app

import (
	"context"
	"errors"
	"time"

	"tallyman/engine/preview"
	"tallyman/internal/api"
	"tallyman/internal/ledger"
)

// The bounds of previews that the API is asked for.
const (
	previewTimeout  = 30 * time.Second
	previewsAtATime = 2
	previewsWaitFor = 2 * time.Second
)

// preview tries a rule of the node for the API, from the state of the node's own ledger.
func (a *App) preview(ctx context.Context, q api.PreviewQuery) (*preview.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	r, err := a.engine.Rule(q.Rule, q.Scope)
	if err != nil {
		return nil, err
	}
	due, err := preview.ParseAt(q.At, r.Schedule.Timezone, a.opts.Clock.Now())
	if err != nil {
		return nil, &api.AtError{Err: err}
	}
	select {
	case a.previews <- struct{}{}:
		defer func() { <-a.previews }()
	case <-time.After(previewsWaitFor):
		return nil, api.ErrBusy
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	release, err := a.engine.Room(ctx, r.Source)
	if err != nil {
		return nil, err
	}
	defer release()
	types, err := a.ledger.Types(ctx)
	if err != nil {
		return nil, err
	}
	p, err := preview.Run(ctx, preview.Request{
		Rule: r, Source: a.sources[r.Source].Source, Name: r.Source, Types: types, Sinks: sinkTypes(a.cfg), Ledger: a.ledger,
		Subscriptions: func(ctx context.Context, typ string) ([]ledger.Subscription, error) {
			return a.ledger.Subscriptions(ctx, ledger.SubscriptionFilter{Type: typ})
		},
		Silencer: &a.silences, Due: due, Limit: q.Limit,
	})
	if err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return p.Report, nil
}

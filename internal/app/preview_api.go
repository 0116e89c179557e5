package app

import (
	"context"
	"time"

	"tallyman/engine/preview"
	apirules "tallyman/internal/api/rules"
)

// The bounds of previews that the API is asked for, and of drafts.
const (
	previewTimeout  = 30 * time.Second
	previewsAtATime = 2
	previewsWaitFor = 2 * time.Second
)

// preview tries a rule of the node for the API, from the state of the node's own ledger.
func (a *App) preview(ctx context.Context, q apirules.PreviewQuery) (*preview.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	r, err := a.engine.Rule(q.Rule, q.Scope)
	if err != nil {
		return nil, err
	}
	due, err := preview.ParseAt(q.At, r.Schedule.Timezone, a.opts.Clock.Now())
	if err != nil {
		return nil, &apirules.AtError{Err: err}
	}
	leave, err := a.enterPreview(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	release, err := a.engine.Room(ctx, r.Source)
	if err != nil {
		return nil, err
	}
	defer release()
	types, err := a.ledger.Types(ctx)
	if err != nil {
		return nil, err
	}
	return a.previewOf(ctx, r, types, due, q.Limit)
}

// enterPreview waits for the place of one of the previews that run at a time.
func (a *App) enterPreview(ctx context.Context) (leave func(), err error) {
	select {
	case a.previews <- struct{}{}:
		return func() { <-a.previews }, nil
	case <-time.After(previewsWaitFor):
		return nil, apirules.ErrBusy
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

package engine

import (
	"context"
	"time"
)

// sweepEvery is how often the ledger is pruned.
const sweepEvery = time.Hour

// sweep prunes the ledger once an hour. Every node does; what one has removed, another does not find.
func (e *Engine) sweep(ctx context.Context, stop <-chan struct{}) {
	for pause(ctx, stop, sweepEvery) {
		before := e.opts.Clock.Now().Add(-e.opts.Retention)
		n, err := e.opts.Ledger.Prune(ctx, before, e.opts.KeepRuns)
		if err != nil {
			e.log.Warn("the ledger could not be pruned", "error", err)
			continue
		}
		e.log.Debug("ledger pruned", "rows", n)
	}
}

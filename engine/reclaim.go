package engine

import "context"

// reclaim looks, three times in the length of a lease, for firings that were claimed and never finished, and tells the
// loops of their rules. A rule that is due once a day need not wait a day for the rest of its firing.
func (e *Engine) reclaim(ctx context.Context, stop <-chan struct{}) {
	for {
		left, err := e.opts.Ledger.Abandoned(ctx)
		if err != nil {
			e.log.Warn("the ledger cannot be asked for abandoned firings", "error", err)
		}
		for _, claim := range left {
			u := e.crew.unit(claim.Rule, claim.Scope)
			if u == nil {
				continue // disabled, or another node's
			}
			select {
			case u.left <- claim.Due:
				e.log.Info("taking up an abandoned firing", "rule", claim.Rule, "scope", claim.Scope, "due", claim.Due, "node", claim.Node)
			default: // it knows already
			}
		}
		if !pause(ctx, stop, e.opts.Lease/3) {
			return
		}
	}
}

package engine

import (
	"context"
	"time"

	"tallyman/internal/ledger"
)

// attendEvery is how often a node says that it is there.
const attendEvery = 5 * time.Second

// attend says that the node is there, until it stops.
func (e *Engine) attend(ctx context.Context, stop <-chan struct{}) {
	for {
		if err := e.appear(ctx); err != nil {
			e.log.Warn("the ledger does not hear that this node is there", "error", err)
		}
		if !pause(ctx, stop, attendEvery) {
			break
		}
	}
	// The context may be over; see unit.hold.
	bye, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	if err := e.opts.Ledger.LeaveNode(bye, e.opts.Node); err != nil {
		e.log.Debug("the ledger does not hear that this node stops; it notices by itself", "error", err)
	}
}

// appear says that the node is there, and with which rules.
func (e *Engine) appear(ctx context.Context) error {
	return e.opts.Ledger.SeeNode(ctx, ledger.Node{
		Name: e.opts.Node, Version: e.opts.Version, Rules: e.Version(), Started: e.started,
	})
}

// agreed tells whether all nodes that are there have the rules of that version.
func (e *Engine) agreed(ctx context.Context, version string) (bool, error) {
	nodes, err := e.opts.Ledger.Nodes(ctx)
	if err != nil {
		return false, err
	}
	for _, n := range nodes {
		if n.Name != e.opts.Node && n.Rules != version {
			e.log.Info("the state of removed rules is closed once all nodes have the same rules", "node", n.Name, "rules", n.Rules, "here", version)
			return false, nil
		}
	}
	return true, nil
}

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
			case u.abandoned <- claim.Due:
				e.log.Info("taking up an abandoned firing", "rule", claim.Rule, "scope", claim.Scope, "due", claim.Due, "node", claim.Node)
			default: // it knows already
			}
		}
		if !pause(ctx, stop, e.opts.Lease/3) {
			return
		}
	}
}

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

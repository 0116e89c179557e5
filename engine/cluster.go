package engine

import (
	"context"
	"time"

	"tallyman/internal/delivery"
)

// appear records which rules the node runs.
func (e *Engine) appear(ctx context.Context) error { return e.opts.Session.Announce(ctx, e.Version()) }

// agreed tells whether all nodes that are there have the rules of that version.
func (e *Engine) agreed(ctx context.Context, version string) (bool, error) {
	nodes, err := e.opts.Ledger.Nodes(ctx)
	if err != nil {
		return false, err
	}
	id, _ := e.opts.Session.Own()
	for _, n := range nodes {
		if n.Session != id && n.Rules != version {
			e.log.Info("the state of removed rules is closed once all nodes have the same rules", "node", n.Name, "rules", n.Rules, "here", version)
			return false, nil
		}
	}
	return true, nil
}

// reclaim looks, three times in the length of a lease and after TakeOver, who is there, and for firings that were
// claimed and never finished, and tells the loops of their rules. A rule that is due once a day need not wait a day for
// the rest of its firing.
func (e *Engine) reclaim(ctx context.Context, stop <-chan struct{}) {
	for {
		id, _ := e.opts.Session.Own()
		if err := e.share.look(ctx, e.opts.Ledger, id); err != nil {
			e.log.Warn("the ledger cannot be asked which nodes are there", "error", err)
		}
		left, err := e.opts.Ledger.Abandoned(ctx)
		if err != nil {
			e.log.Warn("the ledger cannot be asked for abandoned firings", "error", err)
		}
		for _, claim := range left {
			u := e.crew.unit(claim.Rule, claim.Scope)
			if u == nil {
				continue // disabled, or another node's
			}
			if e.timetable.takeUp(u, claim.Due) {
				e.log.Info("taking up an abandoned firing", "rule", claim.Rule, "scope", claim.Scope, "due", claim.Due, "node", delivery.NodeName(claim.Node))
			}
		}
		look := time.NewTimer(e.opts.Lease / 3)
		select {
		case <-e.left:
		case <-look.C:
		case <-ctx.Done():
			return
		case <-stop:
			return
		}
		look.Stop()
	}
}

// TakeOver looks at once for what other nodes have left: lanes, deliveries to push channels and firings. It never
// blocks.
func (e *Engine) TakeOver() {
	for _, d := range e.deliverer {
		signal(d.left)
	}
	for _, sink := range e.opts.Sinks {
		if sink.Wake != nil {
			sink.Wake()
		}
	}
	signal(e.left)
}

// sweepEvery is how often the ledger is pruned, and sweepFirst when for the first time: not while everybody starts.
const (
	sweepEvery = time.Hour
	sweepFirst = time.Minute
)

// sweep prunes the ledger once an hour. Every node does; what one has removed, another does not find.
func (e *Engine) sweep(ctx context.Context, stop <-chan struct{}) {
	for wait := sweepFirst; pause(ctx, stop, wait); wait = sweepEvery {
		before := e.opts.Clock.Now().Add(-e.opts.Retention)
		n, err := e.opts.Ledger.Prune(ctx, before, e.opts.KeepRuns)
		if err != nil && ctx.Err() != nil {
			return
		}
		e.unpruned.Store(&err)
		if err != nil {
			e.log.Warn("the ledger could not be pruned, and is pruned again in an hour", "error", err)
			continue
		}
		e.log.Debug("ledger pruned", "rows", n)
	}
}

// Unpruned is why this node could not prune the ledger when it last tried; nil = it could, or has not tried yet.
func (e *Engine) Unpruned() error {
	if err := e.unpruned.Load(); err != nil {
		return *err
	}
	return nil
}

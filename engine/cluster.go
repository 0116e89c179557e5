package engine

import (
	"context"
	"time"

	"tallyman/internal/delivery"
)

// appear records in the ledger which rules the node runs.
func (e *Engine) appear(ctx context.Context) error { return e.opts.Session.Announce(ctx, e.Version()) }

// agreed tells whether all live nodes have the rules of that version.
func (e *Engine) agreed(ctx context.Context, version string) (bool, error) {
	nodes, err := e.opts.Ledger.Nodes(ctx)
	if err != nil {
		return false, err
	}
	id, _ := e.opts.Session.Own()
	for _, n := range nodes {
		if n.Session != id && n.Rules != version {
			e.log.Info("Another node has other rules. The state of removed rules stays open until all nodes have the same rules.", "node", n.Name, "rules", n.Rules, "here", version)
			return false, nil
		}
	}
	return true, nil
}

// reclaim looks for the live nodes and for abandoned firings, three times per lease and after TakeOver. A firing is
// abandoned if the firing is unfinished and no node holds it: its lease ran out, or its node gave it back. reclaim
// hands each abandoned firing to the unit of the rule. Without reclaim, nobody would repeat the abandoned firing of a
// daily rule before the next day.
func (e *Engine) reclaim(ctx context.Context, stop <-chan struct{}) {
	for {
		id, _ := e.opts.Session.Own()
		if err := e.share.look(ctx, e.opts.Ledger, id); err != nil {
			e.log.Warn("The ledger did not list the live nodes. The node asks again soon.", "error", err)
		}
		left, err := e.opts.Ledger.Abandoned(ctx)
		if err != nil {
			e.log.Warn("The ledger did not list abandoned firings. The node asks again soon.", "error", err)
		}
		for _, claim := range left {
			u := e.crew.unit(claim.Rule, claim.Scope)
			if u == nil {
				continue // The rule is disabled, or only another node has the rule.
			}
			if e.timetable.takeUp(u, claim.Due) {
				e.log.Info("The node takes up an abandoned firing.", "rule", claim.Rule, "scope", claim.Scope, "due", claim.Due, "node", delivery.NodeName(claim.Node))
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

// TakeOver makes the node look at once for the work of dead nodes: lanes, deliveries to push channels and firings.
// TakeOver never blocks.
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

const (
	sweepEvery = time.Hour   // The time between two prunings of the ledger.
	sweepFirst = time.Minute // The time until the first pruning, so that it does not add to the load of a start.
)

// sweep prunes the ledger once an hour. Every node prunes, which is harmless: rows that one node has removed are gone
// for the others.
func (e *Engine) sweep(ctx context.Context, stop <-chan struct{}) {
	for wait := sweepFirst; pause(ctx, stop, wait); wait = sweepEvery {
		before := e.opts.Clock.Now().Add(-e.opts.Retention)
		n, err := e.opts.Ledger.Prune(ctx, before, e.opts.KeepRuns)
		if err != nil && ctx.Err() != nil {
			return
		}
		e.unpruned.Store(&err)
		if err != nil {
			e.log.Warn("The ledger was not pruned. The node tries again in an hour.", "error", err)
			continue
		}
		e.log.Debug("The ledger was pruned.", "rows", n)
	}
}

// Unpruned returns the error of this node's last pruning of the ledger. Nil means the pruning succeeded, or the node
// has not tried yet.
func (e *Engine) Unpruned() error {
	if err := e.unpruned.Load(); err != nil {
		return *err
	}
	return nil
}

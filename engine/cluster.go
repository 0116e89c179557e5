package engine

import (
	"context"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/retry"
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

// forgetAfter is how long all nodes have to have the same rules before the state of removed ones is closed: who moves a rule from one file to another may save
// the one long before the other, and a file that is being written may look like one without rules.
const forgetAfter = 30 * time.Second

// forget closes the findings of rules and scopes that were removed from the files, when the engine has started and after each Replace. It waits until every node has
// these rules: one that still runs a removed rule would find everything anew, and tell it.
func (e *Engine) forget(ctx context.Context, stop <-chan struct{}) {
	pauses := retry.New(time.Second, time.Minute)
	var again <-chan time.Time
	rested := false
	for {
		select {
		case <-stop:
			return
		case <-e.removed:
			rested = false
		case <-again:
		}
		again = nil
		var wait time.Duration
		var err error
		switch wait, rested, err = e.tryForget(ctx, stop, rested); {
		case err != nil:
			e.log.Warn("state of removed rules could not be closed", "error", err)
			again = time.After(pauses.Next())
		case wait > 0:
			again = time.After(wait)
		default:
			pauses.Reset()
		}
	}
}

// tryForget closes them if rested says that the nodes have agreed for long enough. It returns when to try again, 0 = there is nothing left to do, and whether the
// nodes agree now.
func (e *Engine) tryForget(ctx context.Context, stop <-chan struct{}, rested bool) (again time.Duration, agreed bool, err error) {
	e.crew.mu.Lock()
	list, complete, version := e.crew.rules, e.crew.complete, e.crew.version
	known := make(map[string]bool, len(list))
	for _, r := range list {
		known[ledger.ScopeKey(r.ID, r.Scope)] = true
	}
	ending := e.crew.removing(known)
	e.crew.mu.Unlock()
	if err := e.appear(ctx); err != nil {
		return 0, false, err
	}
	if !complete {
		return 0, false, nil // the next Replace asks again
	}
	for _, u := range ending {
		select {
		case <-u.stopped:
		case <-stop:
			return 0, false, nil
		}
	}
	if agreed, err = e.agreed(ctx, version); err != nil || !agreed {
		return attendEvery, false, err
	}
	if !rested {
		return forgetAfter, true, nil
	}
	n, err := e.opts.Ledger.Forget(ctx, known)
	if err == nil && n > 0 {
		e.log.Info("state of removed rules closed", "rows", n)
	}
	return 0, true, err
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

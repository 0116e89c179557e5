package engine

import (
	"context"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// Replace makes these the node's rules; complete is as in Options. It returns at once: rules that mean the same go on untouched, those that have
// changed finish their run first, new ones begin, and those that are gone end. Where the rules do not fit the engine nothing changes.
func (e *Engine) Replace(list []*rules.Rule, complete bool) error {
	if err := e.opts.validateRules(list); err != nil {
		return err
	}
	for _, r := range list {
		if _, err := e.makeUnit(r); err != nil { // the disabled ones too: they may be switched on
			return err
		}
	}
	now := e.opts.Clock.Now()
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	since := now
	if !e.crew.live { // what was missed before the node started is made good as the rules say
		since = time.Time{}
	}
	before := e.crew.rules
	e.crew.rules = list
	if err := e.crew.arrange(e.makeUnit, now, since); err != nil {
		e.crew.rules = before
		return err
	}
	e.crew.complete, e.crew.version = complete, versionOf(list, complete)
	signal(e.changed)
	signal(e.removed)
	return nil
}

// Version is a hash of the rules that the node runs: nodes with the same one have the same rules.
func (e *Engine) Version() string {
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	return e.crew.version
}

// forget closes the findings of rules and scopes that were removed from the files, when the engine starts and after each Replace. It waits until every node has
// these rules: one that still runs a removed rule would find everything anew, and tell it.
func (e *Engine) forget(ctx context.Context, stop <-chan struct{}) {
	retry := backoff{first: time.Second, most: time.Minute}
	var again <-chan time.Time
	for {
		select {
		case <-stop:
			return
		case <-e.removed:
		case <-again:
		}
		again = nil
		switch done, err := e.tryForget(ctx, stop); {
		case err != nil:
			e.log.Warn("state of removed rules could not be closed", "error", err)
			again = time.After(retry.wait())
		case !done:
			again = time.After(attendEvery)
		default:
			retry.reset()
		}
	}
}

// tryForget tells whether there is nothing left to do.
func (e *Engine) tryForget(ctx context.Context, stop <-chan struct{}) (bool, error) {
	e.crew.mu.Lock()
	list, complete, version := e.crew.rules, e.crew.complete, e.crew.version
	known := make(map[string]bool, len(list))
	for _, r := range list {
		known[ledger.Known(r.ID, r.Scope)] = true
	}
	ending := e.crew.removing(known)
	e.crew.mu.Unlock()
	if !complete {
		return true, nil // the next Replace asks again
	}
	for _, u := range ending {
		select {
		case <-u.ended:
		case <-stop:
			return true, nil
		}
	}
	if err := e.appear(ctx); err != nil {
		return false, err
	}
	if agreed, err := e.agreed(ctx, version); err != nil || !agreed {
		return false, err
	}
	n, err := e.opts.Ledger.Forget(ctx, known)
	if err == nil && n > 0 {
		e.log.Info("state of removed rules closed", "rows", n)
	}
	return err == nil, err
}

package engine

import (
	"context"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/retry"
	"tallyman/rules"
)

// Replace makes these the node's rules; complete is as in Options. It returns at once: rules that mean the same go on untouched, those that have
// changed finish their run first, new ones begin, and those that are gone end. Where the rules do not fit the engine nothing changes.
func (e *Engine) Replace(list []*rules.Rule, complete bool) error {
	version, err := e.VersionOf(list, complete)
	if err != nil {
		return err
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
	e.crew.complete, e.crew.version = complete, version
	signal(e.changed)
	signal(e.removed)
	return nil
}

// VersionOf is the version that Replace would make the node's. The error is why the rules do not fit the engine.
func (e *Engine) VersionOf(list []*rules.Rule, complete bool) (string, error) {
	if err := e.opts.validateRules(list); err != nil {
		return "", err
	}
	for _, r := range list {
		if _, err := e.makeUnit(r); err != nil { // the disabled ones too: they may be switched on
			return "", err
		}
	}
	return versionOf(list, complete), nil
}

// Version is a hash of the rules that the node runs: nodes with the same one have the same rules.
func (e *Engine) Version() string {
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	return e.crew.version
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
		known[ledger.Known(r.ID, r.Scope)] = true
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

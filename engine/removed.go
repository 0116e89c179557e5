package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/internal/logging"
	"tallyman/internal/retry"
	"tallyman/rules"
)

// closer closes the state of rules and scopes that were removed from the files.
type closer struct{ *Engine }

// agreeEvery is how often a node checks whether all nodes have the same rules as itself.
const agreeEvery = 5 * time.Second

// closedWindow is the time in which the scopes that a node closes share one log line.
const closedWindow = time.Minute

// run closes the findings of removed rules and scopes and resolves their notices, after the start of the engine and
// after each Replace. It waits until every node has these rules. A node that still ran a removed rule would make its
// findings again, and send their notices again.
func (e closer) run(ctx context.Context, stop <-chan struct{}) {
	pauses := retry.New(time.Second, time.Minute)
	var again <-chan time.Time
	rested := false // The nodes have agreed, and ForgetAfter has passed since.
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
		switch wait, rested, err = e.tryAll(ctx, stop, rested); {
		case err != nil:
			e.log.Warn("The state of removed rules was not closed. The node tries again soon.", "error", err)
			again = time.After(pauses.Next())
		case wait > 0:
			again = time.After(wait)
		default:
			pauses.Reset()
		}
	}
}

// tryAll closes the state of removed rules if all nodes agree that the rules are removed. The nodes must have agreed at
// the try before as well, a ForgetAfter ago (rested). tryAll returns how long to wait until the next try, 0 if nothing
// is left to do, and whether the nodes agree now.
func (e closer) tryAll(ctx context.Context, stop <-chan struct{}, rested bool) (again time.Duration, agreed bool, err error) {
	e.crew.mu.Lock()
	list, complete, version := e.crew.rules, e.crew.complete, e.crew.version
	known := make(map[string]bool, len(list))
	waiting := map[string]bool{} // Rules whose scopes are not known yet.
	for _, r := range list {
		known[ledger.ScopeKey(r.ID, r.Scope)] = true
		waiting[r.ID] = r.Placeholder == rules.Waiting
	}
	ending := e.crew.removing(known)
	e.crew.mu.Unlock()
	if err := e.appear(ctx); err != nil {
		return 0, false, err
	}
	if !complete {
		return 0, false, nil // The next Replace starts another try.
	}
	for _, u := range ending {
		select {
		case <-u.stopped:
		case <-stop:
			return 0, false, nil
		}
	}
	if agreed, err = e.agreed(ctx, version); err != nil || !agreed {
		return agreeEvery, false, err
	}
	if !rested {
		return e.opts.ForgetAfter, true, nil
	}
	if e.paused() {
		return agreeEvery, true, nil // While all rules are paused, no notice is resolved.
	}
	again, err = e.closeAll(ctx, known, waiting)
	return again, true, err
}

// closeAll closes the state of every rule and scope that is not known, except of rules that wait for their scopes. It
// returns how long to wait until the next try, 0 if nothing is left to do.
func (e closer) closeAll(ctx context.Context, known, waiting map[string]bool) (again time.Duration, err error) {
	removed, err := e.opts.Ledger.Removed(ctx, known)
	if err != nil {
		return 0, err
	}
	removed = slices.DeleteFunc(removed, func(r ledger.RemovedScope) bool { return waiting[r.Rule] })
	closed := logging.Burst{Window: closedWindow, Rest: func(n int) {
		e.log.Info("The state of removed rules and scopes is closed.", "count", n)
	}}
	defer closed.Flush()
	for i := range removed {
		switch failure := e.closeScope(ctx, removed[i], &closed); {
		case errors.Is(failure, ledger.ErrFenced):
			// Another node closes this scope too, or a run was committed meanwhile. Read the state again.
			again = agreeEvery
		case failure != nil:
			err = errors.Join(err, fmt.Errorf("rule %s in scope %q: %w", removed[i].Rule, removed[i].Scope, failure))
		}
	}
	return again, err
}

// closeScope closes the state of a removed rule in a scope, and resolves its notices.
func (e closer) closeScope(ctx context.Context, scope ledger.RemovedScope, closed *logging.Burst) error {
	findings, err := e.opts.Ledger.Findings(ctx, scope.Rule, scope.Scope)
	if err != nil {
		return err
	}
	removal := judge.NewRemoval(scope, findings)
	removal.At, removal.Notices = e.opts.Clock.Now().UTC().Truncate(time.Microsecond), e.opts.Ledger.Notices
	resolved := 0
	for last := false; !last; {
		portion, err := removal.Next(ctx)
		if err != nil {
			return err
		}
		e.opts.Step(StepForgetting)
		committed, err := e.opts.Ledger.Forget(ctx, portion)
		if err != nil {
			return err
		}
		e.opts.Step(StepForgotten)
		e.Wake(committed.Lanes)
		for _, n := range portion.Notices {
			e.opts.Observer.NoticeMade(n.Notice.Type, string(n.Notice.Status))
		}
		resolved += len(portion.Notices)
		last = portion.Last
	}
	closed.Event(func() {
		e.log.Info("The state of a removed rule is closed.", "rule", scope.Rule, "scope", scope.Scope, "findings", len(findings), "resolutions", resolved)
	})
	return nil
}

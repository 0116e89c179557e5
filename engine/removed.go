package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/internal/retry"
	"tallyman/rules"
)

// closer closes what rules and scopes have left that were removed from the files.
type closer struct{ *Engine }

// agreeEvery is how often a node looks whether all nodes have its rules.
const agreeEvery = 5 * time.Second

// run closes the findings of rules and scopes that were removed from the files, and resolves their notices, when the
// engine has started and after each Replace. It waits until every node has these rules: one that still runs a removed
// rule would find everything anew, and tell it.
func (e closer) run(ctx context.Context, stop <-chan struct{}) {
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
		switch wait, rested, err = e.tryAll(ctx, stop, rested); {
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

// tryAll closes them if rested says that the nodes have agreed for long enough. It returns when to try again, 0 = there
// is nothing left to do, and whether the nodes agree now.
func (e closer) tryAll(ctx context.Context, stop <-chan struct{}, rested bool) (again time.Duration, agreed bool, err error) {
	e.crew.mu.Lock()
	list, complete, version := e.crew.rules, e.crew.complete, e.crew.version
	known := make(map[string]bool, len(list))
	waiting := map[string]bool{} // rules whose scopes are not known
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
		return agreeEvery, false, err
	}
	if !rested {
		return e.opts.ForgetAfter, true, nil
	}
	if e.paused() {
		return agreeEvery, true, nil // while all rules are paused nothing is resolved
	}
	again, err = e.closeAll(ctx, known, waiting)
	return again, true, err
}

// closeAll closes the state of all rules and scopes that are not known, but of rules that wait for their scopes. It
// returns when to look again, 0 = there is nothing left to do.
func (e closer) closeAll(ctx context.Context, known, waiting map[string]bool) (again time.Duration, err error) {
	removed, err := e.opts.Ledger.Removed(ctx, known)
	if err != nil {
		return 0, err
	}
	removed = slices.DeleteFunc(removed, func(r ledger.RemovedScope) bool { return waiting[r.Rule] })
	for i := range removed {
		switch failure := e.closeScope(ctx, removed[i]); {
		case errors.Is(failure, ledger.ErrFenced):
			again = agreeEvery // another node closes it, too, or a run was committed just now: what is left is read anew
		case failure != nil:
			err = errors.Join(err, fmt.Errorf("rule %s in scope %q: %w", removed[i].Rule, removed[i].Scope, failure))
		}
	}
	return again, err
}

// closeScope closes the state of a removed rule in a scope, and resolves its notices.
func (e closer) closeScope(ctx context.Context, scope ledger.RemovedScope) error {
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
	e.log.Info("state of a removed rule closed", "rule", scope.Rule, "scope", scope.Scope, "findings", len(findings), "resolutions", resolved)
	return nil
}

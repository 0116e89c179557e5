package app

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"tallyman/internal/authoring"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
)

const (
	verifyTimeout = time.Second // for all sources together: changed files are to be in force soon
	verifyAgain   = time.Minute // a rule that its source has refused is held against it again: a table may have been changed
)

// refuse takes out of the set what would take the place of a rule that runs, and would itself not run: its source refuses the probe, or has not the columns that
// the rule names. What it says of them is among the set's problems then. It asks no source that is busy, slow or out of reach: what is not checked here
// is verified when it first runs.
func (a *App) refuse(ctx context.Context, set *rules.Set, before, after []*rules.Rule) (refused bool) {
	changed := changedRules(before, after)
	if len(changed) == 0 {
		return false
	}
	types, err := a.ledger.Types(ctx)
	if err != nil {
		return false // without them nothing can be verified
	}
	ctx, done := context.WithTimeout(ctx, verifyTimeout)
	defer done()
	names := slices.Sorted(maps.Keys(changed))
	found := make([]problem.List, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { found[i] = a.verify(ctx, name, types, changed[name]) })
	}
	asking.Wait()
	bad := map[string]bool{}
	for _, p := range slices.Concat(found...) {
		bad[p.Rule] = true
	}
	set.Problems = rules.Tidy(slices.Concat(append([]problem.List{set.Problems}, found...)...))
	set.Rules = slices.DeleteFunc(set.Rules, func(r *rules.Rule) bool { return bad[r.ID] })
	return len(bad) > 0
}

// verify holds the rules of a source against it, in the place of one run.
func (a *App) verify(ctx context.Context, source string, types catalog.Catalog, list []*rules.Rule) problem.List {
	leave, err := a.engine.Room(ctx, source)
	if err != nil {
		return nil
	}
	defer leave()
	problems := authoring.Verify(ctx, a.sources[source], types, list)
	if ctx.Err() != nil {
		return nil // what was said last may be about that
	}
	return problems
}

// changedRules are those that another version is in force of, by their sources.
func changedRules(before, after []*rules.Rule) map[string][]*rules.Rule {
	old := make(map[string]string, len(before))
	for _, r := range before {
		old[ledger.Known(r.ID, r.Scope)] = r.Checksum
	}
	changed := map[string][]*rules.Rule{}
	for _, r := range after {
		if checksum, known := old[ledger.Known(r.ID, r.Scope)]; known && checksum != r.Checksum {
			changed[r.Source] = append(changed[r.Source], r)
		}
	}
	return changed
}

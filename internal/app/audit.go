package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

const (
	recordTimeout = 10 * time.Second
	mostListed    = 200             // rules in a record
	takeAgain     = 5 * time.Second // rule files that could not be recorded are read again
)

// author is the node as the author of what no person asks for.
func (a *App) author(via ledger.Via) ledger.Author {
	return ledger.Author{By: "node:" + a.opts.Node, Via: via}
}

// rulesPlace is how many versions of the rule files are recorded. It is asked before the files are read: what is recorded later may be what was read.
func (a *App) rulesPlace(ctx context.Context) (int64, error) {
	numbers, err := a.ledger.Numbers(ctx)
	if err != nil {
		return 0, fmt.Errorf("read which rule files are recorded: %w", err)
	}
	return numbers["rules"], nil
}

// takeRules records that the node is to run the rules, where they are others than it runs: once in the cluster. Without the record they must not run. The caller
// holds the book.
func (a *App) takeRules(ctx context.Context, who ledger.Author, from int64, set *rules.Set, list []*rules.Rule) error {
	version, err := a.engine.VersionOf(list, set.Complete())
	if err != nil {
		return err
	}
	taken, _ := a.book.taken()
	if taken && version == a.engine.Version() {
		a.book.take(nil, time.Time{})
		return nil
	}
	state := ledger.RulesVersion{Version: version, Rules: len(list), Problems: len(set.Problems)}
	if taken {
		_, before, _ := a.book.get()
		state.Added, state.Changed, state.Removed = differing(before, list)
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer done()
	if _, err := a.ledger.TakeRules(ctx, who, from, &state); err != nil {
		err = fmt.Errorf("the rule files are not in force, and are read again in %s: %w", takeAgain, err)
		a.book.take(err, time.Now().Add(takeAgain))
		return err
	}
	a.book.take(nil, time.Time{})
	return nil
}

// startRules records the rules that the node starts with, before they run. It tries until that is done or the context ends.
func (a *App) startRules(ctx context.Context) error {
	for {
		err := a.takeFirst(ctx)
		if err == nil {
			return nil
		}
		a.log.Error("the node runs no rules yet", "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(takeAgain):
		}
	}
}

// takeFirst records them unless a reading of the files has done so meanwhile.
func (a *App) takeFirst(ctx context.Context) error {
	a.book.reloading.Lock()
	defer a.book.reloading.Unlock()
	if taken, _ := a.book.taken(); taken {
		return nil
	}
	set, list, _ := a.book.get()
	return a.takeRules(ctx, a.author(ledger.ViaStart), a.book.place, set, list)
}

// differing names the rules that differ between two readings.
func differing(before, after []*rules.Rule) (added, changed, removed []string) {
	old, now := checksums(before), checksums(after)
	for _, id := range slices.Sorted(maps.Keys(now)) {
		sums, known := old[id]
		switch {
		case !known:
			added = append(added, id)
		case sums != now[id]:
			changed = append(changed, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(old)) {
		if _, still := now[id]; !still {
			removed = append(removed, id)
		}
	}
	return added[:min(len(added), mostListed)], changed[:min(len(changed), mostListed)], removed[:min(len(removed), mostListed)]
}

// checksums are those of each rule in all its scopes.
func checksums(list []*rules.Rule) map[string]string {
	sums := map[string]string{}
	for _, r := range list {
		sums[r.ID] += r.Scope + "\x00" + r.Checksum + "\x00"
	}
	return sums
}

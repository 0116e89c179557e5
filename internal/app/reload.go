package app

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"tallyman/internal/api/view"
	"tallyman/internal/authoring"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
)

// reloadTimeout bounds what a reload asks of the ledger: the types that rules are held against.
const reloadTimeout = 10 * time.Second

// reload reads the rule files and puts them in force: rules that mean the same go on untouched. Of a bad file the last
// good version stays. Sources, sinks and everything else of the configuration are as they were when the node started.
// What has changed is recorded before it is in force, by who; where it cannot be, everything stays as it was, and the
// files are read again soon.
func (b *ruleBook) reload(ctx context.Context, why string, who ledger.Author) (wire.Reloaded, error) {
	b.reloading.Lock()
	defer b.reloading.Unlock()
	ctx, done := context.WithTimeout(ctx, reloadTimeout)
	defer done()
	seen := fingerprint(b.config.Rules.Paths) // before they are read: what changes meanwhile is read again
	from, err := b.recordedVersions(ctx)
	if err != nil {
		b.meter.RulesNotRead()
		return wire.Reloaded{}, err
	}
	set, err := b.read(ctx)
	if err != nil {
		b.meter.RulesNotRead()
		return wire.Reloaded{}, err
	}
	lastSet, before, _ := b.get()
	written := b.written()
	kept, stale := keepGood(written, set)
	refused := b.refuse(ctx, set, written, kept)
	if refused {
		kept, stale = keepGood(written, set)
	}
	files := set
	in, err := b.expand(ctx, files, kept)
	if err != nil {
		b.meter.RulesNotRead()
		return wire.Reloaded{}, err
	}
	set, list := in.set, in.list
	if err := b.record(ctx, who, from, set, list); err != nil {
		b.meter.RulesNotRead()
		return wire.Reloaded{}, err
	}
	if err := b.engine.Replace(list, set.Complete()); err != nil {
		b.meter.RulesNotRead()
		return wire.Reloaded{}, err
	}
	b.put(files, kept, in, stale, seen)
	if refused {
		b.readAgain(time.Now().Add(verifyAgain))
	}
	b.tellProblems(set, lastSet)
	r := compare(before, list)
	r.Files, r.Version, r.Problems = len(set.Files), b.engine.Version(), view.FileProblems(set.Problems)
	for _, one := range list {
		if stale[one.ID] {
			r.Kept++
		}
	}
	b.meter.RulesRead(len(r.Problems))
	b.log.Info("rule files read again", "why", why, "files", r.Files, "rules", r.Rules, "added", r.Added, "changed", r.Changed, "removed", r.Removed,
		"kept", r.Kept, "problems", len(r.Problems), "version", r.Version)
	return r, nil
}

// compare counts what differs; each scope of a rule counts.
func compare(before, after []*rules.Rule) wire.Reloaded {
	r := wire.Reloaded{Rules: len(after)}
	old := checksumsOf(before)
	for _, rule := range after {
		id := ledger.ScopeKey(rule.ID, rule.Scope)
		checksum, known := old[id]
		switch {
		case !known:
			r.Added++
		case checksum != rule.Checksum:
			r.Changed++
		}
		delete(old, id)
	}
	r.Removed = len(old)
	return r
}

// checksumsOf are the checksums of the rules, each scope of a rule for itself; see ledger.ScopeKey.
func checksumsOf(list []*rules.Rule) map[string]string {
	sums := make(map[string]string, len(list))
	for _, r := range list {
		sums[ledger.ScopeKey(r.ID, r.Scope)] = r.Checksum
	}
	return sums
}

const (
	verifyTimeout = time.Second // for all sources together: changed files are to be in force soon
	verifyAgain   = time.Minute // a rule that its source has refused is held against it again: a table may have been changed
)

// refuse takes out of the set what would take the place of a rule that runs, and would itself not run: its source
// refuses the probe, or has not the columns that the rule names. What it says of them is among the set's problems then.
// It asks no source that is busy, slow or out of reach: what is not checked here is verified when it first runs.
func (b *ruleBook) refuse(ctx context.Context, set *rules.Set, before, after []*rules.Rule) (refused bool) {
	changed := changedRules(before, after)
	if len(changed) == 0 {
		return false
	}
	types, err := b.ledger.Types(ctx)
	if err != nil {
		return false // without them nothing can be verified
	}
	ctx, done := context.WithTimeout(ctx, verifyTimeout)
	defer done()
	names := slices.Sorted(maps.Keys(changed))
	found := make([]problem.List, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { found[i] = b.verify(ctx, name, types, changed[name]) })
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
func (b *ruleBook) verify(ctx context.Context, source string, types catalog.Catalog, list []*rules.Rule) problem.List {
	leave, err := b.engine.Room(ctx, source)
	if err != nil {
		return nil
	}
	defer leave()
	problems := authoring.Verify(ctx, b.sources[source], types, list)
	if ctx.Err() != nil {
		return nil // what was said last may be about that
	}
	return problems
}

// changedRules are those that another version is in force of, by their sources.
func changedRules(before, after []*rules.Rule) map[string][]*rules.Rule {
	old := checksumsOf(before)
	changed := map[string][]*rules.Rule{}
	for _, r := range after {
		if checksum, known := old[ledger.ScopeKey(r.ID, r.Scope)]; known && checksum != r.Checksum {
			changed[r.Source] = append(changed[r.Source], r)
		}
	}
	return changed
}

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

// reloadTimeout is the time limit of a reload, which asks the ledger for types and lists of scopes.
const reloadTimeout = 10 * time.Second

// reload reads the rule files and puts them in force. Rules whose meaning has not changed go on untouched. A bad file
// keeps its last good version. A reload changes only rules, and not the sources, the sinks or other settings.
//
// The change is recorded in the ledger, with who asked for it, before it is in force. Where it cannot be recorded,
// everything stays as it was and the files are read again soon.
func (b *ruleBook) reload(ctx context.Context, why string, who ledger.Author) (wire.Reloaded, error) {
	b.reloading.Lock()
	defer b.reloading.Unlock()
	ctx, done := context.WithTimeout(ctx, reloadTimeout)
	defer done()
	seen := fingerprint(b.config.Rules.Paths) // Before the read, so that a change during the read causes another one.
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
	b.log.Info("The rule files were read again.", "why", why, "files", r.Files, "rules", r.Rules, "added", r.Added, "changed", r.Changed, "removed", r.Removed,
		"kept", r.Kept, "problems", len(r.Problems), "version", r.Version)
	return r, nil
}

// compare counts the rules that differ. Each scope of a rule counts.
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

// checksumsOf returns the checksum of each rule in each scope, keyed by ledger.ScopeKey.
func checksumsOf(list []*rules.Rule) map[string]string {
	sums := make(map[string]string, len(list))
	for _, r := range list {
		sums[ledger.ScopeKey(r.ID, r.Scope)] = r.Checksum
	}
	return sums
}

const (
	verifyTimeout = time.Second // For all sources together, since changed files must be in force soon.
	verifyAgain   = time.Minute // A refused rule is verified again after this time: somebody may have changed a table.
)

// refuse removes from the set each changed rule that would not run, so that the running version stays. The source of
// such a rule refuses the probe, or the probe lacks columns of the rule. The set's problems say why. refuse does not
// wait for a source that is busy, slow or out of reach: rules on such a source are verified before their first run.
func (b *ruleBook) refuse(ctx context.Context, set *rules.Set, before, after []*rules.Rule) (refused bool) {
	changed := changedRules(before, after)
	if len(changed) == 0 {
		return false
	}
	types, err := b.ledger.Types(ctx)
	if err != nil {
		return false // Without the types no rule can be verified.
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

// verify verifies rules on their source. Meanwhile verify takes one place among the runs of the source.
func (b *ruleBook) verify(ctx context.Context, source string, types catalog.Catalog, list []*rules.Rule) problem.List {
	leave, err := b.engine.Room(ctx, source)
	if err != nil {
		return nil
	}
	defer leave()
	problems := authoring.Verify(ctx, b.sources[source], types, list)
	if ctx.Err() != nil {
		return nil // The last problem may come from the timeout.
	}
	return problems
}

// changedRules returns the rules whose checksum has changed, keyed by source. New rules are not among them.
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

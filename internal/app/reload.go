package app

import (
	"context"
	"time"

	"tallyman/internal/api/view"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules"
)

// reloadTimeout bounds what a reload asks of the ledger: the types that rules are held against.
const reloadTimeout = 10 * time.Second

// reload reads the rule files and puts them in force: rules that mean the same go on untouched. Of a bad file the last good version stays.
// Sources, sinks and everything else of the configuration are as they were when the node started.
// What has changed is recorded before it is in force, by who; where it cannot be, everything stays as it was, and the files are read again soon.
func (a *App) reload(ctx context.Context, why string, who ledger.Author) (wire.Reloaded, error) {
	a.book.reloading.Lock()
	defer a.book.reloading.Unlock()
	ctx, done := context.WithTimeout(ctx, reloadTimeout)
	defer done()
	seen := fingerprint(a.cfg.Rules.Paths) // before they are read: what changes meanwhile is read again
	from, err := a.rulesPlace(ctx)
	if err != nil {
		a.meter.RulesNotRead()
		return wire.Reloaded{}, err
	}
	set, err := a.readRules(ctx)
	if err != nil {
		a.meter.RulesNotRead()
		return wire.Reloaded{}, err
	}
	lastSet, before, _ := a.book.get()
	list, stale := keepGood(before, set)
	refused := a.refuse(ctx, set, before, list)
	if refused {
		list, stale = keepGood(before, set)
	}
	if err := a.takeRules(ctx, who, from, set, list); err != nil {
		a.meter.RulesNotRead()
		return wire.Reloaded{}, err
	}
	if err := a.engine.Replace(list, set.Complete()); err != nil {
		a.meter.RulesNotRead()
		return wire.Reloaded{}, err
	}
	a.book.put(set, list, stale, seen)
	if refused {
		a.book.readAgain(time.Now().Add(verifyAgain))
	}
	a.tellProblems(set, lastSet)
	r := compare(before, list)
	r.Files, r.Version, r.Problems = len(set.Files), a.engine.Version(), fileProblems(set)
	for _, one := range list {
		if stale[one.ID] {
			r.Kept++
		}
	}
	a.meter.RulesRead(len(r.Problems))
	a.log.Info("rule files read again", "why", why, "files", r.Files, "rules", r.Rules, "added", r.Added, "changed", r.Changed, "removed", r.Removed,
		"kept", r.Kept, "problems", len(r.Problems), "version", r.Version)
	return r, nil
}

// compare counts what differs; each scope of a rule counts.
func compare(before, after []*rules.Rule) wire.Reloaded {
	r := wire.Reloaded{Rules: len(after)}
	old := make(map[string]string, len(before))
	for _, rule := range before {
		old[ledger.Known(rule.ID, rule.Scope)] = rule.Checksum
	}
	for _, rule := range after {
		id := ledger.Known(rule.ID, rule.Scope)
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

func fileProblems(set *rules.Set) []wire.FileProblem { return view.FileProblems(set.Problems) }

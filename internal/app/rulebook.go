package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tallyman/engine"
	"tallyman/internal/api/metrics"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/rules"
)

// ruleBook reads the rule files. ruleBook holds what was read, and the rules that are in force.
type ruleBook struct {
	config  *config.Config
	ledger  ledger.Ledger
	sources map[string]*sourceEntry
	engine  *engine.Engine // Nil until the first read of the files has ended.
	meter   *metrics.Metrics
	node    string
	log     *slog.Logger

	lists   chan struct{} // Signalled when the lists of scopes must be read again.
	queries chan struct{} // Signalled when the rules in force have changed, and with them the queries for scopes.

	reloading sync.Mutex // Held while files are read and put in force.

	mu    sync.Mutex
	files *rules.Set // The files as they were read.
	set   *rules.Set // files, and the problems of scopes that queries list.
	wrong time.Time  // Since when set has problems. Zero means it has none.
	// The rules in force as written: a rule whose scopes a query lists stands here once (rules.MadeUp).
	kept  []*rules.Rule
	rules []*rules.Rule   // The rules in force, one for each scope.
	stale map[string]bool // The ids of rules that run in their version from before their file became bad.
	seen  string          // The fingerprint of the files that were read.
	again time.Time       // When the files are read again even without a change. Zero means never.
	place int64           // The number of recorded versions before the first read of the files.
	began bool            // The rules in force are recorded in the ledger.
	fault error           // Why the files that were last read are not in force.
	left  error           // Why the ledger's lists of scopes are not in force.
}

// taken tells whether the rules in force are recorded. fault says why the files that were last read, or the lists of
// scopes, are not in force; nil means they are.
func (b *ruleBook) taken() (taken bool, fault error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.began, errors.Join(b.fault, b.left)
}

// take remembers the result of a record. After a fault the files are read again at the given time.
func (b *ruleBook) take(fault error, again time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = fault
	if fault == nil {
		b.began = true
	} else {
		b.again = again
	}
}

// put stores the result of a read.
func (b *ruleBook) put(files *rules.Set, kept []*rules.Rule, in *expansion, stale map[string]bool, seen string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files, b.kept, b.stale, b.seen, b.again = files, kept, stale, seen, time.Time{}
	b.set, b.rules = in.set, in.list
	if len(in.set.Problems) == 0 {
		b.wrong = time.Time{}
	} else if b.wrong.IsZero() {
		b.wrong = time.Now()
	}
	signal(b.queries)
}

// readAgain makes the node read the files at that time, unless it reads them earlier.
func (b *ruleBook) readAgain(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.again = at
}

// written returns the rules in force as written in the files: a rule with a query for its scopes stands there once.
func (b *ruleBook) written() []*rules.Rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept
}

func (b *ruleBook) get() (set *rules.Set, list []*rules.Rule, stale map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set, b.rules, b.stale
}

// wrongSince returns since when the files, or the scopes that queries list, have problems. Zero means they have none.
func (b *ruleBook) wrongSince() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wrong
}

// fingerprint returns the fingerprint of the files that were read. Empty means the files must be read again.
func (b *ruleBook) fingerprint() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.again.IsZero() && !time.Now().Before(b.again) {
		return ""
	}
	return b.seen
}

// keepGood returns the rules that are in force after a read of the set. While a bad file has rules in force, these stay
// in force in their last good version. Of a bad file without rules in force, the sound rules are taken. A rule of a bad
// file that has moved to a good file is taken from there. A rule that has moved into a bad file stays in its last good
// version.
func keepGood(before []*rules.Rule, set *rules.Set) (list []*rules.Rule, stale map[string]bool) {
	// The bad files with rules in force, and the ids in the good files.
	files, ids := map[string]bool{}, map[string]bool{}
	for _, r := range before {
		if isBad(set, r.File) {
			files[r.File] = true
		}
	}
	for _, r := range set.Rules {
		if !files[r.File] {
			list, ids[r.ID] = append(list, r), true
		}
	}
	stale = map[string]bool{}
	moved := inBadFiles(set)
	for _, r := range before {
		if (files[r.File] || moved[r.ID]) && !ids[r.ID] {
			list, stale[r.ID] = append(list, r), true
		}
	}
	rules.Sort(list)
	return list, stale
}

// inBadFiles returns the ids of the rules that are known to stand in bad files.
func inBadFiles(set *rules.Set) map[string]bool {
	ids := map[string]bool{}
	for _, r := range set.Rules {
		ids[r.ID] = ids[r.ID] || isBad(set, r.File)
	}
	for _, p := range set.Problems {
		ids[p.Rule] = true
	}
	return ids
}

// isBad tells whether the file, or a folder above it, has a problem.
func isBad(set *rules.Set, file string) bool {
	for _, p := range set.Problems {
		bad := filepath.Clean(p.File)
		if file == bad || strings.HasPrefix(file, bad+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// load reads the rule files for the first time. load logs the problems and leaves out the bad rules; a problem of a
// file as a whole leaves out all its rules.
func (b *ruleBook) load(ctx context.Context) error {
	seen := fingerprint(b.config.Rules.Paths)
	var err error
	if b.place, err = b.recordedVersions(ctx); err != nil {
		return err
	}
	set, err := b.read(ctx)
	if err != nil {
		return err
	}
	in, err := b.expand(ctx, set, set.Rules)
	if err != nil {
		return err
	}
	b.put(set, set.Rules, in, nil, seen)
	b.tellProblems(in.set, nil)
	return nil
}

// read reads the rule files and checks them against the configuration and the types.
func (b *ruleBook) read(ctx context.Context) (*rules.Set, error) {
	types, err := b.ledger.Types(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the types: %w", err)
	}
	set := rules.Load(b.config.Rules.Paths)
	rules.Check(set, authoring.Known(b.config, types))
	return set, nil
}

// tellProblems logs the problems in set that before does not have.
func (b *ruleBook) tellProblems(set, before *rules.Set) {
	told := map[string]bool{}
	if before != nil {
		for _, p := range before.Problems {
			told[p.Error()] = true
		}
	}
	for _, p := range set.Problems {
		if !told[p.Error()] {
			b.log.Error("A rule file has a problem. Its bad rules are not in force, or run in their last good version.", "problem", p.Error(), "rule", p.Rule, "hint", p.Hint)
		}
	}
}

const (
	recordTimeout = 10 * time.Second
	mostListed    = 200             // The largest number of rules that a record names.
	takeAgain     = 5 * time.Second // Rule files that were not recorded are read again after this time.
)

// author returns the node as the author of a change that no person asked for.
func (b *ruleBook) author(via ledger.Via) ledger.Author { return nodeAuthor(b.node, via) }

func nodeAuthor(node string, via ledger.Via) ledger.Author {
	return ledger.Author{By: "node:" + node, Via: via}
}

// recordedVersions returns how many versions of the rules are recorded in the ledger. Call it before the files are
// read: another node may record the same files meanwhile, and record must notice that.
func (b *ruleBook) recordedVersions(ctx context.Context) (int64, error) {
	numbers, err := b.ledger.Numbers(ctx)
	if err != nil {
		return 0, fmt.Errorf("read which rule files are recorded: %w", err)
	}
	return numbers["rules"], nil
}

// record records in the ledger that the node is about to run other rules than now. The record is made once in the
// cluster. Without it the rules must not run. The caller holds b.reloading.
func (b *ruleBook) record(ctx context.Context, who ledger.Author, from int64, set *rules.Set, list []*rules.Rule) error {
	version, err := b.engine.VersionOf(list, set.Complete())
	if err != nil {
		return err
	}
	taken, _ := b.taken()
	if taken && version == b.engine.Version() {
		b.take(nil, time.Time{})
		return nil
	}
	state := ledger.RulesVersion{Version: version, Rules: len(list), Problems: len(set.Problems)}
	if taken {
		_, before, _ := b.get()
		state.Added, state.Changed, state.Removed = differing(before, list)
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer done()
	if _, err := b.ledger.TakeRules(ctx, who, from, &state); err != nil {
		err = fmt.Errorf("the rule files are not in force, and are read again in %s: %w", takeAgain, err)
		b.take(err, time.Now().Add(takeAgain))
		return err
	}
	b.take(nil, time.Time{})
	return nil
}

// start records the rules with which the node starts, before they run. start retries until it succeeds or the context
// ends.
func (b *ruleBook) start(ctx context.Context) error {
	for {
		err := b.recordFirst(ctx)
		if err == nil {
			return nil
		}
		b.log.Error("The node runs no rules yet, because they were not recorded in the ledger. The node tries again soon.", "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(takeAgain):
		}
	}
}

// recordFirst records the rules, unless a reload has done so meanwhile.
func (b *ruleBook) recordFirst(ctx context.Context) error {
	b.reloading.Lock()
	defer b.reloading.Unlock()
	if taken, _ := b.taken(); taken {
		return nil
	}
	set, list, _ := b.get()
	return b.record(ctx, b.author(ledger.ViaStart), b.place, set, list)
}

// differing returns the ids of the rules that differ between two reads.
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

// checksums returns for each rule its checksums in all scopes, joined.
func checksums(list []*rules.Rule) map[string]string {
	parts := map[string][]string{}
	for _, r := range list {
		parts[r.ID] = append(parts[r.ID], r.Scope, r.Checksum)
	}
	sums := make(map[string]string, len(parts))
	for id, list := range parts {
		sums[id] = strings.Join(list, "\x00")
	}
	return sums
}

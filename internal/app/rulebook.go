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

// ruleBook reads the rule files. It knows what was read, and what of that is in force.
type ruleBook struct {
	config  *config.Config
	ledger  ledger.Ledger
	sources map[string]*sourceEntry
	engine  *engine.Engine // nil until the files were read for the first time
	meter   *metrics.Metrics
	node    string
	log     *slog.Logger

	lists   chan struct{} // has one while the lists of scopes are to be read again
	queries chan struct{} // has one after the rules in force have changed, which have queries for scopes

	reloading sync.Mutex // held while they are read and put in force

	mu    sync.Mutex
	files *rules.Set      // as they were read
	set   *rules.Set      // files, with what is wrong with the scopes that queries list
	wrong time.Time       // since when set has problems; zero = it has none
	kept  []*rules.Rule   // in force, as they are written: a rule whose scopes come from a query is rules.MadeUp
	rules []*rules.Rule   // in force, in each scope
	stale map[string]bool // ids of those that are in force as they were before their file went bad
	seen  string          // fingerprint of the files that were read
	again time.Time       // when they are read again even if they are the same; zero = they are not
	place int64           // how many versions were recorded before the files were read for the first time
	began bool            // the rules in force are recorded
	fault error           // why what was read last is not in force
	left  error           // why the lists of scopes that the ledger has are not in force
}

// taken tells whether the rules in force are recorded, and why those that were read last, or their scopes, are not in
// force; nil = they are.
func (b *ruleBook) taken() (taken bool, fault error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.began, errors.Join(b.fault, b.left)
}

// take remembers whether what was read could be recorded, and where it could not, when to read it again.
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

// put puts what was read in the book.
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

// readAgain has the files read again at that time, unless they are read before.
func (b *ruleBook) readAgain(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.again = at
}

// written are the rules in force as they are written.
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

// wrongSince is since when the files, or the scopes that queries list, have problems; zero = they have none.
func (b *ruleBook) wrongSince() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wrong
}

// fingerprint is that of the files that were read; none when they are to be read again.
func (b *ruleBook) fingerprint() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.again.IsZero() && !time.Now().Before(b.again) {
		return ""
	}
	return b.seen
}

// keepGood returns the rules that are in force once the set was read. Of a bad file that had rules in force before,
// these stay as they were, all of them: a file is taken in as a whole or not at all. A rule of it that is in another,
// good file by now is taken from there; one that has moved into a bad file stays as it was in its own.
func keepGood(before []*rules.Rule, set *rules.Set) (list []*rules.Rule, stale map[string]bool) {
	files, ids := map[string]bool{}, map[string]bool{} // bad files that had rules in force, and what the good ones have
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

// inBadFiles are the ids of the rules that bad files are known to hold.
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

// isBad tells whether something is wrong with the file, or with a folder that it is in.
func isBad(set *rules.Set, file string) bool {
	for _, p := range set.Problems {
		bad := filepath.Clean(p.File)
		if file == bad || strings.HasPrefix(file, bad+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// load reads the rule files for the first time. Bad ones are told and left out.
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

// read reads the rule files and holds them against what is configured.
func (b *ruleBook) read(ctx context.Context) (*rules.Set, error) {
	types, err := b.ledger.Types(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the types: %w", err)
	}
	set := rules.Load(b.config.Rules.Paths)
	rules.Check(set, authoring.Known(b.config, types))
	return set, nil
}

// tellProblems logs what is wrong with the files and was not so before.
func (b *ruleBook) tellProblems(set, before *rules.Set) {
	told := map[string]bool{}
	if before != nil {
		for _, p := range before.Problems {
			told[p.Error()] = true
		}
	}
	for _, p := range set.Problems {
		if !told[p.Error()] {
			b.log.Error("rule not in force", "problem", p.Error(), "rule", p.Rule, "hint", p.Hint)
		}
	}
}

const (
	recordTimeout = 10 * time.Second
	mostListed    = 200             // rules in a record
	takeAgain     = 5 * time.Second // rule files that could not be recorded are read again
)

// author is the node as the author of what no person asks for.
func (b *ruleBook) author(via ledger.Via) ledger.Author { return nodeAuthor(b.node, via) }

func nodeAuthor(node string, via ledger.Via) ledger.Author {
	return ledger.Author{By: "node:" + node, Via: via}
}

// recordedVersions is how many versions of the rule files are recorded. It is asked before the files are read: what is
// recorded later may be what was read.
func (b *ruleBook) recordedVersions(ctx context.Context) (int64, error) {
	numbers, err := b.ledger.Numbers(ctx)
	if err != nil {
		return 0, fmt.Errorf("read which rule files are recorded: %w", err)
	}
	return numbers["rules"], nil
}

// record records that the node is to run the rules, where they are others than it runs: once in the cluster. Without
// the record they must not run. The caller holds the book.
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

// start records the rules that the node starts with, before they run. It tries until that is done or the context ends.
func (b *ruleBook) start(ctx context.Context) error {
	for {
		err := b.recordFirst(ctx)
		if err == nil {
			return nil
		}
		b.log.Error("the node runs no rules yet", "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(takeAgain):
		}
	}
}

// recordFirst records them unless a reading of the files has done so meanwhile.
func (b *ruleBook) recordFirst(ctx context.Context) error {
	b.reloading.Lock()
	defer b.reloading.Unlock()
	if taken, _ := b.taken(); taken {
		return nil
	}
	set, list, _ := b.get()
	return b.record(ctx, b.author(ledger.ViaStart), b.place, set, list)
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

package app

import (
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tallyman/rules"
)

// ruleBook is what was read of the rule files, and what of it is in force.
type ruleBook struct {
	reloading sync.Mutex // held while they are read and put in force

	mu    sync.Mutex
	set   *rules.Set      // as the files are
	rules []*rules.Rule   // in force
	stale map[string]bool // ids of those that are in force as they were before their file went bad
	seen  string          // fingerprint of the files that were read
	again time.Time       // when they are read again even if they are the same; zero = they are not
	place int64           // how many versions were recorded before the files were read for the first time
	began bool            // the rules in force are recorded
	fault error           // why what was read last is not in force
}

// taken tells whether the rules in force are recorded, and why those that were read last are not; nil = they are.
func (b *ruleBook) taken() (taken bool, fault error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.began, b.fault
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

func (b *ruleBook) put(set *rules.Set, list []*rules.Rule, stale map[string]bool, seen string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set, b.rules, b.stale, b.seen, b.again = set, list, stale, seen, time.Time{}
}

// readAgain has the files read again at that time, unless they are read before.
func (b *ruleBook) readAgain(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.again = at
}

func (b *ruleBook) get() (set *rules.Set, list []*rules.Rule, stale map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set, b.rules, b.stale
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

// keepGood returns the rules that are in force once the set was read. Of a bad file that had rules in force before, these stay as they were, all of them:
// a file is taken in as a whole or not at all. A rule of it that is in another, good file by now is taken from there; one that has moved into a bad file stays as it
// was in its own.
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

package metrics

import (
	"cmp"
	"maps"
	"sync"
)

// maxNames is the default maximum number of values of a label. Rules and types come and go while the process runs.
// Names above the maximum are counted together as other.
const maxNames = 2000

// other is the label value of all names above the maximum.
const other = "(other)"

// names are the known values of a label.
type names struct {
	mu    sync.RWMutex
	seen  map[string]bool
	fixed bool // No other names are added.
	most  int  // Maximum number of names that are added by counting; 0 = maxNames.
}

// bounded returns the name, or other.
func (s *names) bounded(name string) string {
	s.mu.RLock()
	known, fixed := s.seen[name], s.fixed
	s.mu.RUnlock()
	if known {
		return name
	}
	if fixed {
		return other
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if (s.fixed || len(s.seen) >= cmp.Or(s.most, maxNames)) && !s.seen[name] {
		return other
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[name] = true
	return name
}

// keep sets the allowed names. keep returns the names that are new, and the names that are gone.
func (s *names) keep(list []string) (come, gone []string) {
	kept := map[string]bool{}
	for _, name := range list {
		kept[name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.seen {
		if !kept[name] {
			gone = append(gone, name)
		}
	}
	for name := range kept {
		if !s.fixed || !s.seen[name] {
			come = append(come, name)
		}
	}
	if !s.fixed || !maps.Equal(s.seen, kept) {
		s.seen, s.fixed = kept, true
	}
	return come, gone
}

package metrics

import (
	"cmp"
	"maps"
	"sync"
)

// maxNames bounds the values of a label, unless names say otherwise. Rules and types come and go with their files while the process runs; the names beyond the
// bound are counted together.
const maxNames = 2000

// other is the label of those.
const other = "(other)"

// names are the values of a label so far, or those that there may be.
type names struct {
	mu    sync.RWMutex
	seen  map[string]bool
	fixed bool // no others may come
	most  int  // that come by themselves; 0 = maxNames
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

// keep allows these names and no others. It returns those that it has not kept before, and those that are gone.
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

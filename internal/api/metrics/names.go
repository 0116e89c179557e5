package metrics

import "sync"

// maxNames bounds the values of a label. Rules and types come and go with their files while the process runs, and
// what was counted stays; so the names beyond the bound are counted together.
const maxNames = 2000

// other is the label of those.
const other = "(other)"

// names are the values of a label so far.
type names struct {
	mu   sync.RWMutex
	seen map[string]bool
}

// bounded returns the name, or other.
func (s *names) bounded(name string) string {
	s.mu.RLock()
	known := s.seen[name]
	s.mu.RUnlock()
	if known {
		return name
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) >= maxNames && !s.seen[name] {
		return other
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[name] = true
	return name
}

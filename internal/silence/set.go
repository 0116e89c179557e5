package silence

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Holding is a silence that holds something back now.
type Holding struct {
	ID      string
	Until   time.Time // unless somebody ends it before
	Comment string
}

// Set is the silences that a node knows. It is safe for concurrent use; the zero value has none.
type Set struct {
	list    atomic.Pointer[[]Silence]
	reading sync.Mutex
}

// Replace makes the list the one that counts. The caller does not change it any more.
func (s *Set) Replace(list []Silence) { s.list.Store(&list) }

// Refresh makes what is read the list that counts. One reads at a time: else what was read before a change could be put over what was read after
// it. After an error the list stays as it was.
func (s *Set) Refresh(read func() ([]Silence, error)) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	list, err := read()
	if err != nil {
		return err
	}
	s.Replace(list)
	return nil
}

// Holding returns the active silences that are about the subject, the one that lasts longest first.
func (s *Set) Holding(at time.Time, subject *Subject) []Holding {
	list := s.list.Load()
	if list == nil {
		return nil
	}
	var found []Holding
	for i := range *list {
		one := &(*list)[i]
		if !one.Matches(subject) { // first, since a window asks its cron
			continue
		}
		if until, active := one.ActiveUntil(at); active {
			found = append(found, Holding{one.ID, until, one.Comment})
		}
	}
	slices.SortFunc(found, func(a, b Holding) int { return cmp.Or(b.Until.Compare(a.Until), cmp.Compare(a.ID, b.ID)) })
	return found
}

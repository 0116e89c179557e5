package rows

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// The notices that a search looks at in one statement: few at first, since most searches end with them.
const (
	firstLook = 250
	lookMore  = 4
	mostLook  = 5000
)

// Search collects the answer to ledger.Search's question of that name. The database looks at notices in turn, and leaves out the bodies of
// those whose columns do not match; what only a body tells is looked at here.
type Search struct {
	Finding *int64 // the number of the finding whose notices are looked at; nil = all are

	filter ledger.NoticeFilter
	found  ledger.FoundNotices
	look   int
	looked int
	last   ledger.NoticePlace // of what was looked at last
	more   bool               // what follows was not looked at
}

// NewSearch begins a search.
func NewSearch(f ledger.NoticeFilter) *Search {
	s := &Search{filter: f, last: f.Before, look: max(firstLook, f.Limit+1)}
	if f.Finding != "" && f.Rule != "" && f.Scope != nil {
		s.Finding = new(FindingHash(f.Rule, *f.Scope, f.Finding))
	}
	return s
}

// LookArgs are the arguments of a look, in the order that its statements name them.
type LookArgs struct {
	From, To, At, N int64
	ID              string
	Limit           int
	Warehouses      []string
	Types           []string
	Statuses        []string
	Rule, Key       string
	Priority        int
}

// Next returns the arguments of the next look; false when the search is over.
func (s *Search) Next() (LookArgs, bool) {
	if s.looked > 0 && !s.more {
		return LookArgs{}, false
	}
	f := &s.filter
	a := LookArgs{
		From: Micros(f.From), To: math.MaxInt64, At: math.MaxInt64, N: math.MaxInt64, Limit: min(s.look, ledger.MostLookedAt-s.looked),
		Warehouses: notNil(f.Warehouses), Types: notNil(f.Types), Statuses: make([]string, len(f.Statuses)), Rule: f.Rule, Key: Text(f.Key), Priority: f.Priority,
	}
	if !f.To.IsZero() {
		a.To = Micros(f.To)
	}
	if !s.last.At.IsZero() {
		a.At, a.N, a.ID = Micros(s.last.At), s.last.N, s.last.ID
	}
	for i, status := range f.Statuses {
		a.Statuses[i] = string(status)
	}
	return a, true
}

// take takes what was looked at: the places of all notices, and the bodies of those that may match. more tells whether there were as many
// as were asked for.
func (s *Search) take(list []Candidate, more bool) error {
	s.more = more
	s.looked += max(len(list), 1)
	for i := range list {
		if len(s.found.Notices) == s.filter.Limit {
			s.found.Next, s.more = s.last, false
			return nil
		}
		l := &list[i]
		if l.Body != nil {
			n, err := notice.Unmarshal(l.Body)
			if err != nil {
				return fmt.Errorf("ledger: search notices: read %s: %w", l.ID, err)
			}
			if s.matches(n) {
				s.found.Notices = append(s.found.Notices, n)
			}
		}
		s.last = ledger.NoticePlace{At: Time(l.At), N: l.N, ID: l.ID}
	}
	if s.more && s.looked >= ledger.MostLookedAt {
		s.found.Next, s.found.Stopped, s.more = s.last, len(s.found.Notices) < s.filter.Limit, false
	}
	s.look = min(s.look*lookMore, mostLook)
	return nil
}

// matches looks at what the columns do not tell, or not surely.
func (s *Search) matches(n *notice.Notice) bool {
	f := &s.filter
	return (len(f.Warehouses) == 0 || slices.Contains(f.Warehouses, n.Warehouse)) &&
		(f.Rule == "" || n.Rule == f.Rule) && (f.Scope == nil || n.Scope == *f.Scope) &&
		strings.Contains(n.Key, Text(f.Key)) && (f.Finding == "" || n.Key == Text(f.Finding)) &&
		(f.Episode == "" || n.Episode == f.Episode) && n.Priority >= f.Priority
}

// Run looks until the search is over. look also tells whether there were as many as were asked for.
func (s *Search) Run(look func(a *LookArgs) (list []Candidate, full bool, err error)) (ledger.FoundNotices, error) {
	for a, more := s.Next(); more; a, more = s.Next() {
		list, full, err := look(&a)
		if err == nil {
			err = s.take(list, full)
		}
		if err != nil {
			return ledger.FoundNotices{}, err
		}
	}
	return s.found, nil
}

// Candidate is a notice that a search has looked at. Body is nil where its columns do not match.
type Candidate struct {
	At, N int64
	ID    string
	Body  []byte
}

func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

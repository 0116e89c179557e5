package codec

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// FindingOf returns the number by which statements find the notices of a finding; see FindingHash.
func FindingOf(n *notice.Notice) int64 { return FindingHash(n.Rule, n.Scope, n.Key) }

// FindingHash returns the number of a finding. The upper 24 bits are a hash of rule and scope, so that the notices of
// a run lie together in the index. Different findings may have the same number: a caller that finds a notice by
// number must compare the notice itself.
func FindingHash(rule, scope, key string) int64 {
	return int64(hash(rule+"\x00"+scope)&^uint64(keyBits) | hash(key)&keyBits) //nolint:gosec // all 64 bits are used
}

// keyBits are the bits of a finding's number that depend on its key.
const keyBits = 1<<40 - 1

// FindingsOf returns the lowest and the highest number that findings of the rule in the scope may have.
func FindingsOf(rule, scope string) (lowest, highest int64) {
	lowest = FindingHash(rule, scope, "") &^ keyBits
	return lowest, lowest | keyBits
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // writing to a hash never fails
	return h.Sum64()
}

// FindingHashes returns the numbers of the findings with these keys.
func FindingHashes(rule, scope string, keys []string) []int64 {
	out := make([]int64, len(keys))
	for i, key := range keys {
		out[i] = FindingHash(rule, scope, key)
	}
	return out
}

// Trace collects the result of NoticeTracer.Trace.
type Trace struct {
	Notices []ledger.NoticeTrace
	at      map[string]int // by id
}

// NewTrace starts with the notices that a statement found by number or id. NewTrace drops notices of other findings
// that only have the same number.
func NewTrace(found []*notice.Notice, rule, scope string, keys, ids []string) *Trace {
	t := &Trace{at: map[string]int{}}
	for _, n := range found {
		if slices.Contains(ids, n.ID) || n.Rule == rule && n.Scope == scope && slices.Contains(keys, n.Key) {
			t.at[n.ID] = len(t.Notices)
			t.Notices = append(t.Notices, ledger.NoticeTrace{Notice: n})
		}
	}
	return t
}

// IDs returns the ids of the notices.
func (t *Trace) IDs() []string {
	ids := make([]string, len(t.Notices))
	for i := range t.Notices {
		ids[i] = t.Notices[i].Notice.ID
	}
	return ids
}

// Add adds a delivery to its notice.
func (t *Trace) Add(d *DeliveryTrace) {
	n := &t.Notices[t.at[d.Notice]]
	n.Deliveries = append(n.Deliveries, d.Trace())
}

// DeliveryTrace is a delivery as the query of a trace names its columns.
type DeliveryTrace struct {
	Notice          string
	Seq             int64
	Sink, Warehouse string
	State           int16
	Attempts        int
	LastError       string
	SentAt          int64
	Recipients      string
}

// Columns returns pointers to the fields in the order of the query's columns.
func (d *DeliveryTrace) Columns() []any {
	return []any{&d.Notice, &d.Seq, &d.Sink, &d.Warehouse, &d.State, &d.Attempts, &d.LastError, &d.SentAt, &d.Recipients}
}

// Trace returns the row in the ledger's form.
func (d *DeliveryTrace) Trace() ledger.DeliveryTrace {
	return ledger.DeliveryTrace{
		Seq: d.Seq, Lane: ledger.Lane{Sink: d.Sink, Warehouse: d.Warehouse}, State: ledger.DeliveryState(d.State),
		Attempts: d.Attempts, LastError: d.LastError, SentAt: Time(d.SentAt), Recipients: Recipients(d.Recipients),
	}
}

// ProbePlan is a row of probe_plans.
type ProbePlan struct {
	Checksum    string
	Cost        float64
	Shape       string
	Asked       int64
	BeforeCost  float64
	BeforeShape string
	BeforeUntil int64
}

// Columns returns pointers to the fields in the order of the table's columns after rule and scope.
func (p *ProbePlan) Columns() []any {
	return []any{&p.Checksum, &p.Cost, &p.Shape, &p.Asked, &p.BeforeCost, &p.BeforeShape, &p.BeforeUntil}
}

// Plan returns the row in the ledger's form.
func (p *ProbePlan) Plan(rule, scope string) ledger.ProbePlan {
	out := ledger.ProbePlan{
		Rule: rule, Scope: scope, Checksum: p.Checksum, Cost: p.Cost, Shape: p.Shape, Asked: Time(p.Asked),
	}
	if p.BeforeUntil != 0 {
		out.Before = &ledger.PlanBefore{Cost: p.BeforeCost, Shape: p.BeforeShape, Until: Time(p.BeforeUntil)}
	}
	return out
}

// PlanArgs returns the columns of a plan.
func PlanArgs(p ledger.ProbePlan) []any {
	var before ledger.PlanBefore
	if p.Before != nil {
		before = *p.Before
	}
	return []any{
		p.Rule, p.Scope, p.Checksum, p.Cost, p.Shape, Micros(p.Asked), before.Cost, before.Shape, Micros(before.Until),
	}
}

// How many notices a search reads in one statement: few at first, since most searches end there, and then more and
// more.
const (
	firstLook = 250
	lookMore  = 4
	mostLook  = 5000
)

// Search collects the result of ledger.Search.SearchNotices. The database reads notices in their order, and returns
// no body where the columns do not match the filter. Search then checks the bodies against the rest of the filter.
type Search struct {
	Finding *int64 // number of the finding whose notices the search reads; nil = all notices

	filter ledger.NoticeFilter
	found  ledger.NoticePage
	look   int
	looked int
	last   ledger.NoticePlace // place of the last notice that was read
	more   bool               // More notices follow.
}

// NewSearch begins a search.
func NewSearch(f ledger.NoticeFilter) *Search {
	s := &Search{filter: f, last: f.Before, look: max(firstLook, f.Limit+1)}
	if f.Finding != "" && f.Rule != "" && f.Scope != nil {
		s.Finding = new(FindingHash(f.Rule, *f.Scope, f.Finding))
	}
	return s
}

// LookArgs are the arguments of one step of a search, in the order of the statements' arguments. The step begins
// behind the place of At, N and ID, and ends at End.
type LookArgs struct {
	End, At, N int64
	ID         string
	Limit      int
	Warehouses []string
	Types      []string
	Statuses   []string
	Rule, Key  string
	Priority   int
	Spellings  []string
}

// Lead returns the statement that lists the notices of a step, with its arguments. place is the start of the step in
// the engine's own order.
func (s *Search) Lead(a *LookArgs, place ...any) (name string, args []any) {
	args = append(append([]any{a.End}, place...), a.Limit)
	all := append(args, a.Warehouses, a.Types, a.Rule, a.Priority)
	switch {
	case s.Finding != nil && s.filter.Oldest:
		return "search-finding-oldest", append(args, *s.Finding)
	case s.Finding != nil:
		return "search-finding", append(args, *s.Finding)
	case s.filter.Oldest:
		return "search-oldest", all
	}
	return "search", all
}

// Look returns the name of the statement that reads the listed notices, for engines with one statement for each
// order.
func (s *Search) Look() string {
	if s.filter.Oldest {
		return "looked-at-oldest"
	}
	return "looked-at"
}

// Next returns the arguments of the next step; false when the search is over.
func (s *Search) Next() (LookArgs, bool) {
	if s.looked > 0 && !s.more {
		return LookArgs{}, false
	}
	f := &s.filter
	a := LookArgs{
		End: Micros(f.From), At: math.MaxInt64, N: math.MaxInt64, Limit: min(s.look, ledger.MostLookedAt-s.looked),
		Warehouses: notNil(f.Warehouses), Types: notNil(f.Types), Statuses: make([]string, len(f.Statuses)), Rule: f.Rule, Key: Text(f.Key), Priority: f.Priority, Spellings: Spellings(f.Spellings),
	}
	if f.Oldest {
		a.End, a.At, a.N = math.MaxInt64, Micros(f.From), math.MinInt64
		if !f.To.IsZero() {
			a.End = Micros(f.To)
		}
	} else if !f.To.IsZero() {
		a.At, a.N = Micros(f.To), math.MinInt64
	}
	// The statement gets only one bound on the side where the step begins. With two bounds a database may start at
	// either of them, and then reads and skips all rows that the other one excludes.
	if at := Micros(s.last.At); !s.last.At.IsZero() && (f.Oldest && at >= a.At || !f.Oldest && at < a.At) {
		a.At, a.N, a.ID = at, s.last.N, s.last.ID
	}
	for i, status := range f.Statuses {
		a.Statuses[i] = string(status)
	}
	return a, true
}

// take adds the result of a step: the places of all notices, and the bodies of the notices that may match. more tells
// whether the step returned as many notices as it asked for.
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

// matches checks the parts of the filter that the columns cannot decide, or cannot decide for sure.
func (s *Search) matches(n *notice.Notice) bool {
	f := &s.filter
	return (len(f.Warehouses) == 0 || slices.Contains(f.Warehouses, n.Warehouse)) &&
		(f.Rule == "" || n.Rule == f.Rule) && (f.Scope == nil || n.Scope == *f.Scope) &&
		strings.Contains(n.Key, Text(f.Key)) && (f.Finding == "" || n.Key == Text(f.Finding)) &&
		(f.Episode == "" || n.Episode == f.Episode) && n.Priority >= f.Priority && (len(f.Spellings) == 0 || says(n, Spellings(f.Spellings)))
}

// says tells whether one of the texts stands in the readable parts of the notice.
func says(n *notice.Notice, texts []string) bool {
	read := []string{n.Key, n.Title, n.Body}
	for _, t := range n.Texts {
		read = append(read, t.Title, t.Body)
	}
	for _, field := range n.Data {
		read = append(read, fmt.Sprint(field.Value))
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(read, func(where string) bool { return strings.Contains(where, text) })
	})
}

// Spellings returns the texts in the form in which the ledger stores them.
func Spellings(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = Text(text)
	}
	return out
}

// Bytes returns the texts in the form in which a database searches bodies.
func Bytes(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, text := range texts {
		out[i] = []byte(text)
	}
	return out
}

// Run calls look step by step until the search is over. full tells whether a step returned as many notices as it
// asked for.
func (s *Search) Run(look func(a *LookArgs) (list []Candidate, full bool, err error)) (ledger.NoticePage, error) {
	for a, more := s.Next(); more; a, more = s.Next() {
		list, full, err := look(&a)
		if err == nil {
			err = s.take(list, full)
		}
		if err != nil {
			return ledger.NoticePage{}, err
		}
	}
	return s.found, nil
}

// Candidate is a notice that a search has read. Body is nil where its columns do not match the filter.
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

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

// FindingOf is the number by which the notices of a finding are found; see FindingHash.
func FindingOf(n *notice.Notice) int64 { return FindingHash(n.Rule, n.Scope, n.Key) }

// FindingHash is the number of a finding. Its upper 24 bits are those of rule and scope, so that the notices of a run lie
// together in the index. Others may have it too: whoever finds a notice by it looks at the notice.
func FindingHash(rule, scope, key string) int64 {
	return int64(hash(rule+"\x00"+scope)&^uint64(keyBits) | hash(key)&keyBits) //nolint:gosec // all 64 bits are used
}

// keyBits are the bits of a finding's number that come of its key.
const keyBits = 1<<40 - 1

// FindingsOf returns the lowest and highest number that findings of the rule in the scope may have.
func FindingsOf(rule, scope string) (lowest, highest int64) {
	lowest = FindingHash(rule, scope, "") &^ keyBits
	return lowest, lowest | keyBits
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash takes everything
	return h.Sum64()
}

// FindingHashes are the numbers of the keys.
func FindingHashes(rule, scope string, keys []string) []int64 {
	out := make([]int64, len(keys))
	for i, key := range keys {
		out[i] = FindingHash(rule, scope, key)
	}
	return out
}

// Trace collects the answer to ledger.History's question of that name.
type Trace struct {
	Notices []ledger.NoticeTrace
	at      map[string]int // by id
}

// NewTrace takes the notices that were found. Those whose finding merely has the number of one that was asked for are left out.
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

// IDs are those of the notices.
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

// Trace is the row as its readers see it.
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

// Plan is the row as the engine sees it.
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
	found  ledger.NoticePage
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

// LookArgs are the arguments of a look, in the order that its statements name them. The look begins at the place of At, N and ID, which is not looked at, and goes as
// far as End.
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

// Lead is the statement that finds the notices of a look, with its arguments. place is where the look begins, in the engine's own order.
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

// Look is the statement that says more of the notices of a look, in the order of the search, where the engine has one for each order.
func (s *Search) Look() string {
	if s.filter.Oldest {
		return "looked-at-oldest"
	}
	return "looked-at"
}

// Next returns the arguments of the next look; false when the search is over.
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
	// One bound on the side where the look begins: a database that has two begins at either, and passes over all that the other leaves out.
	if at := Micros(s.last.At); !s.last.At.IsZero() && (f.Oldest && at >= a.At || !f.Oldest && at < a.At) {
		a.At, a.N, a.ID = at, s.last.N, s.last.ID
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
		(f.Episode == "" || n.Episode == f.Episode) && n.Priority >= f.Priority && (len(f.Spellings) == 0 || says(n, Spellings(f.Spellings)))
}

// says tells whether one of the texts stands in what people read of the notice.
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

// Spellings are the texts as the ledger keeps them.
func Spellings(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = Text(text)
	}
	return out
}

// Bytes are the texts as a database searches them in bodies.
func Bytes(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, text := range texts {
		out[i] = []byte(text)
	}
	return out
}

// Run looks until the search is over. look also tells whether there were as many as were asked for.
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

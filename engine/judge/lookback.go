package judge

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
)

// MostSeen is how many rows may lie in the window that a rule reads again.
const MostSeen = 100_000

// seenPortion is how many rows of one scan are remembered and forgotten together.
const seenPortion = 10_000

// errPageFull ends a scan that has seen max_rows new rows.
var errPageFull = errors.New("the page is full")

type rowHash [ledger.SeenHash]byte

// seenMemory is what a pass of mode event knows of the rows that it reads again, and what it adds.
type seenMemory struct {
	pass     *Pass
	look     rules.LookBack
	identity string
	back     ledger.LookBack // what the ledger has, less what belongs to another watermark or other columns
	through  int64           // portions up to this number go, whatever their age
	next     int64           // number of the next portion
	backlog  bool
	began    time.Time // when the first pass of the firing began: rows that it did not see may have been committed since

	seen    map[rowHash]struct{}
	fresh   map[rowHash]struct{}
	added   []byte        // hashes of fresh, in the order of the scan
	edges   [][]row.Value // the position after each portion of added that is complete
	skipped int           // rows that were seen before
}

// newSeenMemory begins with what the ledger remembers. A memory of rows that were told apart by other columns is worth
// nothing: it is dropped, and the rule reads on behind its watermark.
func newSeenMemory(p *Pass, watermark []row.Value, back ledger.LookBack) *seenMemory {
	m := &seenMemory{pass: p, look: p.Rule.Probe.Watermark.LooksBack(), identity: p.rowIdentity(), back: back, next: 1, began: p.Started}
	if p.Resume != nil {
		m.began, m.seen = p.Resume.began, p.Resume.seen
	}
	m.backlog = m.look.Time > 0 && (back.At.IsZero() || p.Started.Sub(back.At) > m.look.Time)
	if n := len(back.Seen); n > 0 {
		m.next = back.Seen[n-1].N + 1
	}
	if len(back.From) != len(watermark) || compareMarks(back.From, watermark) > 0 {
		m.back.From, m.back.Seen, m.through = watermark, nil, m.next-1
		return m
	}
	for i, s := range back.Seen {
		if s.Identity != m.identity {
			m.back.From, m.back.Seen, m.through = s.Position, back.Seen[i+1:], s.N
		}
	}
	return m
}

// rowIdentity stands for the columns that a row is known by: those of the key and of the watermark, with the kinds that
// their values have.
func (s *ScopedRule) rowIdentity() string {
	var text strings.Builder
	columns := s.Prepared.Columns()
	for _, name := range slices.Concat(s.Rule.Key, []string{""}, s.Rule.Probe.Watermark.Columns) {
		kind := row.Null
		if at := row.Index(columns, name); at >= 0 {
			kind = columns[at].Kind
		}
		if kind == row.Decimal {
			kind = row.Int // an Int and a Decimal of one value are alike
		}
		fmt.Fprintf(&text, "%s %d\x00", name, kind)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// recall makes what is remembered ready for questions. A pass that is not the first of its firing has it from the pass
// before.
func (m *seenMemory) recall() {
	m.fresh = map[rowHash]struct{}{}
	if m.seen != nil {
		return
	}
	m.seen = make(map[rowHash]struct{}, m.back.Rows())
	m.learn(m.back.Seen)
}

func (m *seenMemory) learn(portions []ledger.SeenRows) {
	for i := range portions {
		for hashes := range slices.Chunk(portions[i].Hashes, ledger.SeenHash) {
			m.seen[rowHash(hashes)] = struct{}{}
		}
	}
}

// resume returns what the next pass of the firing begins with, once the change is committed.
func (m *seenMemory) resume(position []row.Value, c *ledger.LookBackChange) *Resumption {
	for i := range m.back.Seen {
		if s := &m.back.Seen[i]; s.N <= c.Through {
			for hashes := range slices.Chunk(s.Hashes, ledger.SeenHash) {
				delete(m.seen, rowHash(hashes))
			}
		}
	}
	m.learn(c.Add)
	return &Resumption{position, m.began, m.back.Apply(c), m.seen}
}

func hashOf(program *rules.Program, r *row.Row) rowHash {
	sum := sha256.Sum256(program.Identity(r))
	return rowHash(sum[:ledger.SeenHash])
}

// add remembers a row that is new. position is the highest watermark so far.
func (m *seenMemory) add(hash rowHash, position func() []row.Value) {
	if _, twice := m.fresh[hash]; twice {
		return
	}
	m.fresh[hash] = struct{}{}
	m.added = append(m.added, hash[:]...)
	if m.rows()%seenPortion == 0 {
		m.edges = append(m.edges, position())
	}
}

// rows is how many new rows there are.
func (m *seenMemory) rows() int { return len(m.added) / ledger.SeenHash }

// cut takes back the rows that came after the first n.
func (m *seenMemory) cut(n int) { m.added = m.added[:n*ledger.SeenHash] }

// portions are the new rows; none of them lies above the watermark.
func (m *seenMemory) portions(watermark []row.Value) []ledger.SeenRows {
	var list []ledger.SeenRows
	for hashes := range slices.Chunk(m.added, seenPortion*ledger.SeenHash) {
		s := ledger.SeenRows{
			N: m.next + int64(len(list)), At: m.pass.now(), Position: watermark, Backlog: m.backlog, Identity: m.identity, Hashes: slices.Clone(hashes),
		}
		if at := len(list); (at+1)*seenPortion < m.rows() && compareMarks(m.edges[at], watermark) < 0 {
			s.Position = m.edges[at]
		}
		list = append(list, s)
	}
	return list
}

// change is what the ledger remembers after the pass. The rows of a portion are read no more when the rule looks back
// no further than to them. Rows of a backlog may have any age: the oldest of them go when there are too many. A firing
// that goes on forgets only what lies at or below its position: it has still to read what is above.
func (m *seenMemory) change(watermark, position []row.Value, again bool) (*ledger.LookBackChange, error) {
	c := &ledger.LookBackChange{From: m.back.From, At: m.pass.Started, Through: m.through}
	if again {
		c.At = m.back.At // the firing has not read all there is
	}
	added := m.portions(watermark)
	kept := slices.Concat(m.back.Seen, added)
	total := 0
	for i := range kept {
		total += kept[i].Rows()
	}
	for len(kept) > 0 && (!again || compareMarks(kept[0].Position, position) <= 0) && (m.isOver(&kept[0], watermark) || total > MostSeen && kept[0].Backlog) {
		c.From, c.Through = kept[0].Position, kept[0].N
		total -= kept[0].Rows()
		kept = kept[1:]
	}
	if total > MostSeen {
		return nil, &Error{"look_back_full", fmt.Sprintf("%d rows came up within look_back: %s, and at most %d are remembered: give probe.watermark.look_back a shorter time, "+
			"or count it in numbers, such as look_back: 5000", total, m.look, MostSeen)}
	}
	for i := range added {
		if added[i].N > c.Through {
			c.Add = append(c.Add, added[i])
		}
	}
	return c, nil
}

// isOver tells whether the rule reads above the portion from now on. A scan that began after the portion had been seen
// for as long as the rule looks back has seen all transactions that were open then.
func (m *seenMemory) isOver(s *ledger.SeenRows, watermark []row.Value) bool {
	if m.look.Numbers > 0 {
		c, err := row.Compare(s.Position[0], watermark[0].Minus(m.look.Numbers))
		return err == nil && c <= 0
	}
	return !s.At.After(m.began.Add(-m.look.Time))
}

// afterFailure is what a failed run changes of the memory. One that failed for want of room has read what there is:
// what it leaves for the next run is no backlog.
func (m *seenMemory) afterFailure(err error) *ledger.LookBackChange {
	var own *Error
	if m == nil || !errors.As(err, &own) || own.Code != "look_back_full" {
		return nil
	}
	return &ledger.LookBackChange{From: m.back.From, At: m.pass.Started, Through: m.through}
}

// now is the time after the scan.
func (p *Pass) now() time.Time {
	if p.Clock == nil {
		return p.Started
	}
	return p.Clock().UTC().Truncate(time.Microsecond)
}

// compareMarks compares watermarks of the same columns. What cannot be compared is above: the column had another kind
// when the other one was recorded.
func compareMarks(a, b []row.Value) int {
	for i := range min(len(a), len(b)) {
		c, err := row.Compare(a[i], b[i])
		if err != nil {
			return 1
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// higher returns the higher one of two watermarks.
func higher(a, b []row.Value) []row.Value {
	if compareMarks(a, b) < 0 {
		return b
	}
	return a
}

// Remembers returns a function that tells whether an earlier run has seen a row that the probe returns again. nil = the
// rule does not look back.
func (s *ScopedRule) Remembers(state ledger.ScopeState, back ledger.LookBack) func(*row.Row) bool {
	p := &Pass{ScopedRule: s}
	known := p.Begin(state, nil, back)
	if known.memory == nil {
		return nil
	}
	known.memory.recall()
	return func(r *row.Row) bool {
		_, seen := known.memory.seen[hashOf(s.Program, r)]
		return seen
	}
}

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

// MostSeen is the largest number of rows in the look_back window of a rule.
const MostSeen = 100_000

// seenPortion is how many rows of one scan the memory stores and drops together.
const seenPortion = 10_000

// errPageFull ends a scan that has taken max_rows new rows.
var errPageFull = errors.New("the page is full")

type rowHash [ledger.SeenHash]byte

// seenMemory is the memory of a rule with look_back. It has hashes of the rows that earlier runs have seen, and of the
// rows that this pass adds. A rule with look_back reads rows below its watermark again, because a transaction may
// commit late. The memory keeps the rule from reporting a row twice.
type seenMemory struct {
	pass     *Pass
	look     rules.LookBack
	identity string          // See rowIdentity.
	back     ledger.LookBack // The ledger's memory, without portions of another watermark or other columns.
	through  int64           // The ledger drops all portions up to this number, whatever their age.
	next     int64           // The number of the next portion.
	backlog  bool            // The last run is longer ago than look_back, so the new rows may have any age.
	// When the first pass of the firing began. The scan of that pass did not see rows that were committed later.
	began time.Time

	seen    map[rowHash]struct{}
	fresh   map[rowHash]struct{}
	added   []byte        // The hashes in fresh, in the order of the scan.
	edges   [][]row.Value // The position after each complete portion of added.
	skipped int           // The number of rows that were seen before.
}

// newSeenMemory begins with the ledger's memory. A portion whose rows were identified by other columns is of no use.
// newSeenMemory drops this portion and all portions before it, and the rule reads on above the portion. A memory that
// does not fit the watermark is dropped as a whole, and the rule reads on above its watermark.
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

// rowIdentity returns a hash of the columns that identify a row, and of their kinds: the columns of the key and of the
// watermark.
func (s *ScopedRule) rowIdentity() string {
	var text strings.Builder
	columns := s.Prepared.Columns()
	for _, name := range slices.Concat(s.Rule.Key, []string{""}, s.Rule.Probe.Watermark.Columns) {
		kind := row.Null
		if at := row.Index(columns, name); at >= 0 {
			kind = columns[at].Kind
		}
		if kind == row.Decimal {
			kind = row.Int // An Int and a Decimal of the same value have the same hash.
		}
		fmt.Fprintf(&text, "%s %d\x00", name, kind)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// recall builds seen from the ledger's portions. A later pass of a firing has seen from the pass before.
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

// resume returns the Resumption of the firing's next pass. resume is valid once the change is committed.
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

// add adds a new row to the memory. position returns the highest watermark so far.
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

// rows returns the number of new rows.
func (m *seenMemory) rows() int { return len(m.added) / ledger.SeenHash }

// cut keeps the first n new rows and drops the others.
func (m *seenMemory) cut(n int) { m.added = m.added[:n*ledger.SeenHash] }

// portions returns the new rows in portions. No row lies above the watermark.
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

// change returns the change of the ledger's memory after the pass. The oldest portion is dropped once the rule does not
// look back to its rows any more. Rows of a backlog may have any age, so their oldest portions are dropped when the
// memory is full. A firing with another pass drops only portions at or below its position, because it still has to read
// the rows above.
func (m *seenMemory) change(watermark, position []row.Value, again bool) (*ledger.LookBackChange, error) {
	c := &ledger.LookBackChange{From: m.back.From, At: m.pass.Started, Through: m.through}
	if again {
		c.At = m.back.At // The firing has not read all rows yet.
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
		return nil, &Error{"look_back_full", fmt.Sprintf("%d rows lie within look_back (%s), and a rule remembers at most %d: give probe.watermark.look_back a shorter time, "+
			"or count it in numbers, such as look_back: 5000", total, m.look, MostSeen)}
	}
	for i := range added {
		if added[i].N > c.Through {
			c.Add = append(c.Add, added[i])
		}
	}
	return c, nil
}

// isOver tells whether the rule reads only above the portion from now on. With look_back as a time, the portion is over
// once a scan began that long after the portion was seen. Such a scan has seen every transaction that was open when the
// portion was seen.
func (m *seenMemory) isOver(s *ledger.SeenRows, watermark []row.Value) bool {
	if m.look.Numbers > 0 {
		c, err := row.Compare(s.Position[0], watermark[0].Minus(m.look.Numbers))
		return err == nil && c <= 0
	}
	return !s.At.After(m.began.Add(-m.look.Time))
}

// afterFailure returns how a failed run changes the memory. Nil means that the memory stays as it is. A run that failed
// because the memory was full has read all rows, so the rows that the next run finds are no backlog.
func (m *seenMemory) afterFailure(err error) *ledger.LookBackChange {
	var own *Error
	if m == nil || !errors.As(err, &own) || own.Code != "look_back_full" {
		return nil
	}
	return &ledger.LookBackChange{From: m.back.From, At: m.pass.Started, Through: m.through}
}

// now returns the time of the pass's clock, in whole µs.
func (p *Pass) now() time.Time {
	if p.Clock == nil {
		return p.Started
	}
	return p.Clock().UTC().Truncate(time.Microsecond)
}

// compareMarks compares watermarks of the same columns. Where two values cannot be compared, a counts as higher: the
// kind of the column has changed since one of them was recorded.
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

// Remembers returns a function that tells whether an earlier run has seen a row. Remembers returns nil where the rule
// has no look_back.
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

package codec

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/item"
)

// The moves of an item that one call records are one text. Each move is a line of fields with a space between them:
//
//	n at from to attempt failures suspends due assignee by node note
//
// States are letters, times are µs since 1970. The last four fields are escaped as in a URL; - is an empty text. A
// move with a revision has one more field: item.Revision.Text.
const moveFields = 12

// errMove says that a text was not written by appendMove.
var errMove = errors.New("ledger: not the trace of an item")

// appendMove adds the line of a move.
func appendMove(dst []byte, m *item.Move) []byte {
	number := func(n int64) { dst = append(strconv.AppendInt(dst, n, 10), ' ') }
	number(m.N)
	number(Micros(m.At))
	dst = append(append(dst, m.From.Letter()...), ' ')
	dst = append(append(dst, m.To.Letter()...), ' ')
	number(int64(m.Attempt))
	number(int64(m.Failures))
	number(int64(m.Suspends))
	number(Micros(m.Due))
	for _, text := range []string{m.Assignee, m.By, m.Node, m.Note} {
		dst = append(append(dst, escaped(text)...), ' ')
	}
	if m.Revision != nil {
		dst = append(append(dst, m.Revision.Text()...), ' ')
	}
	dst[len(dst)-1] = '\n'
	return dst
}

// escaped returns the text without spaces; "-" stands for an empty text only.
func escaped(text string) string {
	switch text {
	case "":
		return "-"
	case "-":
		return "%2D"
	default:
		return url.QueryEscape(text)
	}
}

// ParseMoves appends the moves of a text to dst.
func ParseMoves(dst []item.Move, seq int64, text string) ([]item.Move, error) {
	for line := range strings.Lines(text) {
		m, err := parseMove(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return dst, fmt.Errorf("%w: item %d: %w", errMove, seq, err)
		}
		m.Seq = seq
		dst = append(dst, m)
	}
	return dst, nil
}

func parseMove(line string) (item.Move, error) {
	fields := strings.Split(line, " ")
	var revision *item.Revision
	if len(fields) == moveFields+1 {
		var err error
		if revision, err = item.ParseRevision(fields[moveFields]); err != nil {
			return item.Move{}, err
		}
		fields = fields[:moveFields]
	}
	if len(fields) != moveFields {
		return item.Move{}, fmt.Errorf("%d fields instead of %d", len(fields), moveFields)
	}
	var numbers [6]int64
	for i, at := range []int{0, 1, 4, 5, 6, 7} {
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return item.Move{}, err
		}
		numbers[i] = n
	}
	from, err := item.FromLetter(fields[2])
	if err != nil {
		return item.Move{}, err
	}
	to, err := item.FromLetter(fields[3])
	if err != nil {
		return item.Move{}, err
	}
	texts := fields[8:]
	for i, text := range texts {
		if text == "-" {
			texts[i] = ""
			continue
		}
		if texts[i], err = url.QueryUnescape(text); err != nil {
			return item.Move{}, err
		}
	}
	return item.Move{
		N: numbers[0], At: Time(numbers[1]), From: from, To: to, Attempt: int(numbers[2]), Failures: int(numbers[3]),
		Suspends: int(numbers[4]), Due: Time(numbers[5]), Assignee: texts[0], By: texts[1], Node: texts[2], Note: texts[3],
		Revision: revision,
	}, nil
}

// SortMoves sorts the moves of one item.
func SortMoves(moves []item.Move) {
	slices.SortStableFunc(moves, func(a, b item.Move) int { return cmp.Or(cmp.Compare(a.N, b.N), a.At.Compare(b.At)) })
}

// Apply is the plan of one call of ApplyMoves.
type Apply struct {
	Position int64          // position after the call
	Orders   []*item.Change // audit records in their order
	Traces   []Trail        // by Seq, one for each item
	Changed  []Standing     // items that have not ended, in their state after the last move
	Done     []Standing
	Early    []Standing // items that were removed or refused
	Revised  []Revised  // items with a new priority, order or payload

	Moves [][]*item.Move // moves of each item in their order; the items by Seq
}

// Trail is the moves of one item.
type Trail struct {
	Seq   int64
	At    int64 // time of the last move
	Moves []byte
}

// Standing is the state of an item after its move N.
type Standing struct {
	Seq, N             int64
	State              string // letter of the state
	Attempt            int64
	Failures, Suspends int32
	Due                int64
	Assignee           string
	News               string // the revision that waits for the end of the lease; "" = none
}

// Revised has the priority, order and payload of an item since its move N.
type Revised struct {
	Seq, N   int64
	Priority int16
	Order    int64
	Source   int64 // Seq of the record with the payload; 0 = the item's own payload
}

// NewApply plans the entries above the position. NewApply collects the moves of each item.
func NewApply(entries []item.Moves, position int64) *Apply {
	a := &Apply{Position: position}
	for i := range entries {
		if entries[i].Position > position {
			a.Position = max(a.Position, entries[i].Position)
			for j := range entries[i].Changes {
				a.Orders = append(a.Orders, &entries[i].Changes[j])
			}
		}
	}
	a.Moves = bySeq(entries, position)
	for _, moves := range a.Moves {
		a.add(moves)
	}
	return a
}

// HasOrders tells whether any of the entries has audit records to write.
func HasOrders(entries []item.Moves) bool {
	return slices.ContainsFunc(entries, func(m item.Moves) bool { return len(m.Changes) > 0 })
}

// bySeq returns the moves of each item, in their order, items by Seq.
func bySeq(entries []item.Moves, position int64) [][]*item.Move {
	count := 0
	for i := range entries {
		count += len(entries[i].List)
	}
	all := make([]*item.Move, 0, count)
	for i := range entries {
		if entries[i].Position <= position {
			continue
		}
		for j := range entries[i].List {
			all = append(all, &entries[i].List[j])
		}
	}
	slices.SortStableFunc(all, func(a, b *item.Move) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.N, b.N)) })
	var out [][]*item.Move
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Seq == all[0].Seq {
			n++
		}
		out, all = append(out, all[:n]), all[n:]
	}
	return out
}

func (a *Apply) add(moves []*item.Move) {
	text := make([]byte, 0, 80*len(moves))
	for _, m := range moves {
		text = appendMove(text, m)
	}
	last := moves[len(moves)-1]
	a.Traces = append(a.Traces, Trail{Seq: last.Seq, At: Micros(last.At), Moves: text})
	s := Standing{
		Seq: last.Seq, N: last.N, State: last.To.Letter(), Attempt: int64(last.Attempt), Failures: int32(last.Failures), //nolint:gosec // counts
		Suspends: int32(last.Suspends), Due: Micros(last.Due), Assignee: last.Assignee, //nolint:gosec // counts
	}
	if last.Revision != nil && last.Revision.Later {
		s.News = last.Revision.Text()
	}
	if r, ok := revised(moves); ok {
		a.Revised = append(a.Revised, r)
	}
	switch {
	case last.To == item.Done:
		a.Done = append(a.Done, s)
	case last.To.Ended():
		a.Early = append(a.Early, s)
	default:
		a.Changed = append(a.Changed, s)
	}
}

// revised returns the result of all revisions in the moves of one item. The payload comes from the last revision with
// a source.
func revised(moves []*item.Move) (r Revised, ok bool) {
	for _, m := range moves {
		v := m.Revision
		if v == nil || v.Later {
			continue
		}
		r = Revised{Seq: m.Seq, N: m.N, Priority: int16(v.Priority), Order: Order(v.Order), Source: cmp.Or(v.Source, r.Source)} //nolint:gosec // 1 … 5
		ok = true
	}
	return r, ok
}

// Refusals is the plan of one call of RefuseItems.
type Refusals struct {
	Seqs   []int64
	Trails []Trail // traces of the items that had not ended before

	bySeq map[int64]*item.Refusal
	was   Standing // the row that was scanned last
}

// NewRefusals plans the refusals.
func NewRefusals(list []item.Refusal) *Refusals {
	r := &Refusals{Seqs: make([]int64, len(list)), bySeq: make(map[int64]*item.Refusal, len(list))}
	for i := range list {
		r.Seqs[i] = list[i].Seq
		r.bySeq[list[i].Seq] = &list[i]
	}
	return r
}

// Columns returns pointers to the columns of refuse-items: the state of an item before its refusal.
func (r *Refusals) Columns() []any {
	return []any{&r.was.Seq, &r.was.N, &r.was.State, &r.was.Attempt, &r.was.Failures, &r.was.Suspends, &r.was.Assignee}
}

// Add adds the final move of the item whose row was scanned.
func (r *Refusals) Add() error {
	from, err := item.FromLetter(r.was.State)
	if err != nil {
		return err
	}
	refusal := r.bySeq[r.was.Seq]
	m := item.Move{
		Seq: refusal.Seq, N: r.was.N + 1, At: refusal.At, From: from, To: item.Refused, Attempt: int(r.was.Attempt), Failures: int(r.was.Failures),
		Suspends: int(r.was.Suspends), Assignee: r.was.Assignee, Node: refusal.Node, Note: refusal.Of,
	}
	r.Trails = append(r.Trails, Trail{Seq: m.Seq, At: Micros(m.At), Moves: appendMove(nil, &m)})
	return nil
}

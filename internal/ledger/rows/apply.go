package rows

import (
	"cmp"
	"slices"

	"tallyman/internal/item"
)

// Apply is what one call of ApplyMoves writes.
type Apply struct {
	Position int64          // after it
	Orders   []*item.Change // in their order
	Traces   []Trail        // by Seq, one for each item
	Changed  []Standing     // items that go on, as they stand after their last moves
	Done     []Standing
	Early    []Standing // items that were removed or refused
}

// Trail is the moves of one item.
type Trail struct {
	Seq   int64
	At    int64 // of the last
	Moves []byte
}

// Standing is how an item stands after its move N.
type Standing struct {
	Seq, N             int64
	State              string // its letter
	Attempt            int64
	Failures, Suspends int32
	Due                int64
	Assignee           string
}

// NewApply takes the entries above the position, and puts the moves of each item together.
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
	for _, moves := range bySeq(entries, position) {
		a.add(moves)
	}
	return a
}

// HasOrders tells whether some of the entries have records to be written.
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
	switch {
	case last.To == item.Done:
		a.Done = append(a.Done, s)
	case last.To.Ended():
		a.Early = append(a.Early, s)
	default:
		a.Changed = append(a.Changed, s)
	}
}

// Refused is the last move of an item, which was as the standing says, and its trail.
func Refused(r *item.Refusal, was *Standing) (Trail, error) {
	from, err := item.FromLetter(was.State)
	if err != nil {
		return Trail{}, err
	}
	m := item.Move{
		Seq: r.Seq, N: was.N + 1, At: r.At, From: from, To: item.Refused, Attempt: int(was.Attempt), Failures: int(was.Failures),
		Suspends: int(was.Suspends), Assignee: was.Assignee, Node: r.Node, Note: r.Of,
	}
	return Trail{Seq: m.Seq, At: Micros(m.At), Moves: appendMove(nil, &m)}, nil
}

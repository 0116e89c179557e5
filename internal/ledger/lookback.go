package ledger

import (
	"context"
	"time"

	"tallyman/rules/row"
)

// LookBacks is the memory of the rows that rules read again below their watermarks.
type LookBacks interface {
	// LookBack returns what is remembered for the rule in the scope. Of a rule that does not look back, or is not known, it is the zero value.
	LookBack(ctx context.Context, rule, scope string) (LookBack, error)
}

// LookBack is what the ledger remembers of the rows that a rule reads again below its watermark.
type LookBack struct {
	From []row.Value // The next scan reads what is above it; nil = nothing is remembered, and the watermark counts.
	At   time.Time   // when the last firing that read all there was began its scan; zero = none did
	Seen []SeenRows  // in the order of N, which is that of At and of Position
}

// Rows is how many rows are remembered.
func (b LookBack) Rows() int {
	rows := 0
	for i := range b.Seen {
		rows += b.Seen[i].Rows()
	}
	return rows
}

// SeenHash is how many bytes stand for a row.
const SeenHash = 16

// SeenRows are rows that one scan has seen for the first time.
type SeenRows struct {
	N        int64       // names the portion within its rule and scope; later portions have higher numbers
	At       time.Time   // when the scan had ended
	Position []row.Value // no row of the portion lies above it
	Backlog  bool        // nothing tells when the rows came up: the scan before was longer ago than the rule looks back
	Identity string      // stands for the columns that the hashes are made of
	Hashes   []byte      // SeenHash bytes for each row, of its key and its watermark
}

// Rows is how many there are.
func (s *SeenRows) Rows() int { return len(s.Hashes) / SeenHash }

// LookBackChange is what a commit changes of a LookBack.
type LookBackChange struct {
	From    []row.Value // nil = everything is forgotten, and the other fields say nothing
	At      time.Time
	Through int64 // Portions up to this number go.
	Add     []SeenRows
}

// Apply returns the memory after the change; nil leaves it as it is.
func (b LookBack) Apply(c *LookBackChange) LookBack {
	switch {
	case c == nil:
		return b
	case c.From == nil:
		return LookBack{}
	}
	after := LookBack{From: c.From, At: c.At}
	for _, s := range b.Seen {
		if s.N > c.Through {
			after.Seen = append(after.Seen, s)
		}
	}
	after.Seen = append(after.Seen, c.Add...)
	return after
}

package ledger

import (
	"context"
	"time"

	"tallyman/rules/row"
)

// LookBacks remembers the rows that rules read again below their watermarks, so that no row counts twice.
type LookBacks interface {
	// LookBack returns the memory of the rule in the scope. LookBack returns the zero value for a rule that does not
	// look back or is not known.
	LookBack(ctx context.Context, rule, scope string) (LookBack, error)
}

// LookBack is what the ledger remembers of the rows that a rule reads again below its watermark.
type LookBack struct {
	// The next scan reads the rows above this position; nil = nothing is remembered, and the scan begins at the
	// watermark.
	From []row.Value
	At   time.Time  // when the last firing that read all rows began its scan; zero = no firing did
	Seen []SeenRows // in the order of N, which is also the order of At and of Position
}

// Rows returns the number of remembered rows.
func (b LookBack) Rows() int {
	rows := 0
	for i := range b.Seen {
		rows += b.Seen[i].Rows()
	}
	return rows
}

// SeenHash is the number of bytes that stand for a row.
const SeenHash = 16

// SeenRows is a portion of rows that one scan saw for the first time.
type SeenRows struct {
	N        int64       // number of the portion within its rule and scope; later portions have higher numbers
	At       time.Time   // when the scan ended
	Position []row.Value // No row of the portion lies above this position.
	// Nobody knows when these rows appeared, because the scan before was longer ago than the rule looks back.
	Backlog  bool
	Identity string // identifies the columns that the hashes are made of
	Hashes   []byte // SeenHash bytes for each row, made of its key and its watermark
}

// Rows returns the number of rows in the portion.
func (s *SeenRows) Rows() int { return len(s.Hashes) / SeenHash }

// LookBackChange is the change of a LookBack by a commit.
type LookBackChange struct {
	From    []row.Value // nil = the ledger forgets everything, and the other fields do not matter
	At      time.Time
	Through int64 // The ledger removes the portions up to this number.
	Add     []SeenRows
}

// Apply returns the memory after the change. A nil change leaves the memory as it is.
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

package ledger

import (
	"context"
	"time"
)

// Clock keeps the time that all nodes of the ledger share. docs/adr/clock-terms.md tells why.
type Clock interface {
	// ReadClock reads the ledger's clock.
	ReadClock(ctx context.Context) (ClockState, error)
	// SeeTime records that the nodes have seen the time was.Now(). A node that starts later compares the clock with
	// this time and so notices that the clock went back. SeeTime changes nothing where the clock's term or withheld
	// time differs from was, nor where a later time is recorded.
	SeeTime(ctx context.Context, was ClockState) error
	// BeginTerm begins the next term, because the clock went back. back is how far the clock is now behind the time
	// that nodes had reached. BeginTerm returns whether it did. BeginTerm changes nothing where the term or the
	// withheld time differs from was. Leases and waiting deliveries of the previous term keep at least the rest of
	// their time. No lease becomes longer than longest.
	BeginTerm(ctx context.Context, who Author, was ClockState, back, longest time.Duration) (bool, error)
	// WithholdClock sets by how much the ledger's clock is ahead of the time that nodes use; 0 = nothing is withheld.
	// WithholdClock returns whether it did. WithholdClock changes nothing where the term or the withheld time differs
	// from was.
	WithholdClock(ctx context.Context, who Author, was ClockState, withheld time.Duration) (bool, error)
	// ConfirmClock records that an operator has confirmed a clock that went ahead: the clock is right, and nothing is
	// withheld any more. ErrNotFound where nothing is withheld.
	ConfirmClock(ctx context.Context, who Author, reason string) error
}

// Term is one unbroken period of the ledger's clock. A clock that goes back ends the term. The same due times then
// come again, and the term tells them apart.
type Term struct {
	Number int64         // 0 = the first term
	Began  time.Time     // by the clock of the term; zero for the first term
	Back   time.Duration // how far the clock went back when the term began
}

// ClockState is the state of the ledger's clock.
type ClockState struct {
	Term
	Machine time.Time // the time that the clock shows; leases are judged by it
	// How far the clock is ahead of the time that nodes use, until an operator confirms the clock; 0 = nothing is
	// withheld.
	Withheld time.Duration
	Since    time.Time // when the clock went ahead, by the time that nodes use; zero where nothing is withheld
	Seen     time.Time // the latest time of the term that a node has seen; zero = none yet
}

// Now returns the time that nodes use.
func (s *ClockState) Now() time.Time { return s.Machine.Add(-s.Withheld) }

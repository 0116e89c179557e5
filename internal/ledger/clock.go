package ledger

import (
	"context"
	"time"
)

// Clock keeps the time that all nodes of the ledger share. docs/adr/clock-terms.md tells why.
type Clock interface {
	// ReadClock reads the ledger's clock.
	ReadClock(ctx context.Context) (ClockState, error)
	// SeeTime records that the nodes have seen the time of was: a node that starts later notices by it that the clock went back. It changes
	// nothing where the clock's term, or what is withheld of it, is no longer that of was, nor where a later time is recorded.
	SeeTime(ctx context.Context, was ClockState) error
	// BeginTerm begins the next term, because the clock went back by that much behind the time that nodes had reached, and tells whether it did: it
	// changes nothing where the term, or what is withheld, is no longer that of was. Leases and waiting deliveries of the term before keep
	// what is left of their time. No lease is longer than longest.
	BeginTerm(ctx context.Context, who Author, was ClockState, back, longest time.Duration) (bool, error)
	// WithholdClock makes withheld the time by which the ledger's clock is ahead of what nodes go by, 0 = nothing is withheld, and tells whether it
	// did: it changes nothing where the term, or what is withheld, is no longer that of was.
	WithholdClock(ctx context.Context, who Author, was ClockState, withheld time.Duration) (bool, error)
	// ConfirmClock is what an operator says of a clock that went ahead: it is right, and nothing is withheld any more. ErrNotFound where
	// nothing is withheld.
	ConfirmClock(ctx context.Context, who Author, reason string) error
}

// Term is one unbroken life of the ledger's clock. A clock that goes back ends it: due times come again, and the term tells them apart.
type Term struct {
	Number int64         // 0 = the first
	Began  time.Time     // by the clock of the term; zero of the first
	Back   time.Duration // by how much the clock went back when the term began
}

// ClockState is how the ledger's clock stands.
type ClockState struct {
	Term
	Machine  time.Time     // what the clock shows, which leases are judged by
	Withheld time.Duration // how far the clock is ahead of the time that nodes go by, until an operator confirms it; 0 = nothing is withheld
	Since    time.Time     // when it went ahead, by the time that nodes go by; zero where nothing is withheld
	Seen     time.Time     // the latest time of the term that a node has seen; zero before the first
}

// Now is the time that nodes go by.
func (s *ClockState) Now() time.Time { return s.Machine.Add(-s.Withheld) }

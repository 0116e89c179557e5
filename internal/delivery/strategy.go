package delivery

import (
	"time"
)

// StrategyKind says how long a push channel is tried; docs/reference/rule-file.md has the table (Deliver).
type StrategyKind string

// The kinds.
const (
	Immediate StrategyKind = "immediate" // one attempt, at once
	Delayed   StrategyKind = "delayed"   // the first attempt later, then Retry more
	Important StrategyKind = "important" // until it succeeds, or the notice expires; Until says whether it outlives the notice
	Timed     StrategyKind = "timed"     // until Within has passed
)

// Unless says what cancels a delivery that waits.
type Unless string

// What cancels. The empty Unless is nothing.
const (
	UnlessRead     Unless = "read"     // a recipient has read the notice, or acked it; of a delivery for one subscriber, that one
	UnlessAcked    Unless = "acked"    // a recipient has acked it
	UnlessResolved Unless = "resolved" // its finding is over
)

// Until says how long an important delivery is tried.
type Until string

// The ends. The empty Until is the expiry of the notice.
const (
	UntilSent Until = "sent" // also after the notice has expired: the channel takes it, or an operator cancels it
)

// Strategy is how one notice is delivered to one push channel. The inbox and queues have none: they are tried until they
// have taken it.
type Strategy struct {
	Kind   StrategyKind
	Delay  time.Duration // Delayed: from the notice's creation to the first attempt
	At     time.Time     // Delayed: the first attempt, instead of Delay; zero = Delay counts
	Within time.Duration // Timed: from the notice's creation, or from a retry by an operator
	Retry  int           // Delayed: attempts after the first that failed for a while
	Unless Unless        // Delayed
	Until  Until         // Important
}

// Expiry returns when a delivery of a notice that expires then is of no use any more; zero = never.
func (s *Strategy) Expiry(notice time.Time) time.Time {
	if s.Until == UntilSent {
		return time.Time{}
	}
	return notice
}

// First returns when a notice of that time is tried first.
func (s *Strategy) First(created time.Time) time.Time {
	switch {
	case s.Kind != Delayed:
		return created
	case s.At.After(created):
		return s.At
	case !s.At.IsZero():
		return created
	default:
		return created.Add(s.Delay)
	}
}

// Deadline returns when the strategy gives up; zero = never by the clock.
func (s *Strategy) Deadline(created time.Time) time.Time {
	if s.Kind != Timed {
		return time.Time{}
	}
	return created.Add(s.Within)
}

// PushClaim is a delivery to a push channel that this node is to try now.
type PushClaim struct {
	Delivery

	Strategy Strategy
	Token    int64     // of the claim; a later claim has a higher one
	Attempts int       // made before this one, since an operator had it tried again
	Ever     int       // made before this one, whatever an operator had tried again
	Deadline time.Time // of a timed delivery; zero = none
}

// Claims is the answer to the question what is due.
type Claims struct {
	At   time.Time // by the ledger's clock; deadlines and expiries are measured from it, whatever the node's clock says
	List []PushClaim
	More bool          // as many were claimed as could be: more may be due
	Next time.Duration // until the next open delivery of the sink is due; 0 = none is known, or More
}

// SettleKind is how an attempt ended.
type SettleKind uint8

// The kinds.
const (
	SettleSent    SettleKind = iota + 1 // the channel has taken it
	SettleFailed                        // it will never be taken, or its strategy allows no other attempt
	SettleAgain                         // not taken; tried again after After
	SettleRelease                       // it was not tried, or the call was cut off (Error): any node may claim it at once, and no attempt counts
	SettleHold                          // the silence HeldBy holds it back for After, unless somebody ends that before; no attempt counts
)

// Settlement is what is to be recorded of a claim. Its attempt is kept, but for that of a claim that was given back without an error.
type Settlement struct {
	Seq   int64
	Token int64
	Kind  SettleKind
	After time.Duration // SettleAgain, SettleHold
	// HeldBy is the id of the silence. SettleHold.
	HeldBy string
	Attempt
}

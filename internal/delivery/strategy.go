package delivery

import (
	"time"
)

// StrategyKind says how long the deliveries to a push channel are tried; docs/reference/rule-file.md has the table
// (Deliver).
type StrategyKind string

// The kinds.
const (
	Immediate StrategyKind = "immediate" // one attempt, at once
	Delayed   StrategyKind = "delayed"   // the first attempt later, then Retry more
	// Important: until the delivery succeeds or the notice expires; Until says whether the delivery outlives the
	// notice.
	Important StrategyKind = "important"
	Timed     StrategyKind = "timed" // until Within has passed
)

// Unless says which event cancels a waiting delivery.
type Unless string

// The events. An empty Unless means that no event cancels.
const (
	// UnlessRead: a recipient has read or acked the notice. For a delivery to one subscriber, only that subscriber
	// counts.
	UnlessRead     Unless = "read"
	UnlessAcked    Unless = "acked"    // A recipient has acked the notice.
	UnlessResolved Unless = "resolved" // The finding of the notice is over.
)

// Until says how long an important delivery is tried.
type Until string

// The ends. With an empty Until the delivery ends when the notice expires.
const (
	// UntilSent: the delivery is tried until the channel takes it or an operator cancels it, even after the notice has
	// expired.
	UntilSent Until = "sent"
)

// Strategy says how one notice is delivered to one push channel. The inbox and queues have no strategy: their
// deliveries are tried until they succeed.
type Strategy struct {
	Kind   StrategyKind
	Delay  time.Duration // Delayed: from the notice's creation to the first attempt
	At     time.Time     // Delayed: the first attempt, instead of Delay; zero = Delay counts
	Within time.Duration // Timed: from the notice's creation, or from a retry by an operator
	Retry  int           // Delayed: attempts after the first one; a refusal for good ends the delivery
	Unless Unless        // Delayed
	Until  Until         // Important
}

// Expiry returns when a delivery is of no use any more, given the expiry of its notice; zero = never.
func (s *Strategy) Expiry(notice time.Time) time.Time {
	if s.Until == UntilSent {
		return time.Time{}
	}
	return notice
}

// First returns the time of the first attempt, given the creation time of the notice.
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

// PushClaim is a delivery to a push channel that this node must try now.
type PushClaim struct {
	Delivery

	Strategy Strategy
	Token    int64     // of the claim; a later claim has a higher token
	Attempts int       // attempts before this one, counted since an operator's last retry
	Ever     int       // all attempts before this one
	Deadline time.Time // of a timed delivery; zero = none
}

// Claims is the answer of ClaimPushes.
type Claims struct {
	// The ledger's time of the claim. Deadlines and expiries are measured from it, because the node's clock may
	// differ.
	At   time.Time
	List []PushClaim
	More bool          // The call reached its limit: more deliveries may be due.
	Next time.Duration // until the next open delivery of the sink is due; 0 = unknown, or More is true
}

// SettleKind is how an attempt ended.
type SettleKind uint8

// The kinds.
const (
	SettleSent SettleKind = iota + 1 // The channel took the delivery.
	// SettleFailed: the channel will never take the delivery, or the strategy allows no other attempt.
	SettleFailed
	SettleAgain // The channel did not take the delivery; the next attempt comes after After.
	// SettleRelease: no attempt counts, because no node tried the delivery, or the call was cut off (Error). Any node may
	// claim the delivery at once.
	SettleRelease
	// SettleHold: no attempt counts. The silence HeldBy holds the delivery back for After, or until an operator ends the
	// silence.
	SettleHold
)

// Settlement is the result of a claim. The ledger keeps its Attempt, except for SettleHold, and for SettleRelease
// without an error.
type Settlement struct {
	Seq   int64
	Token int64
	Kind  SettleKind
	After time.Duration // SettleAgain, SettleHold
	// HeldBy is the id of the silence, for SettleHold.
	HeldBy string
	Attempt
}

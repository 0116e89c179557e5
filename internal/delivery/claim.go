package delivery

import "time"

// Claimed is a delivery to a push channel that this node is to try now.
type Claimed struct {
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
	List []Claimed
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
	SettleRelease                       // it was not tried: any node may claim it at once, and no attempt counts
	SettleHold                          // the silence HeldBy holds it back for After, unless somebody ends that before; no attempt counts
)

// Settled is what is to be recorded of a claim.
type Settled struct {
	Seq   int64
	Token int64
	Kind  SettleKind
	After time.Duration // SettleAgain, SettleHold
	// HeldBy is the id of the silence. SettleHold.
	HeldBy string
	Error  string // SettleFailed, SettleAgain; without secrets
}

package sinks

import (
	"context"
	"fmt"
	"time"
)

// Pusher is a push channel: it hands notices to a system that is not ours. Package delivery calls it, under the
// strategies and limits of the sink.
type Pusher interface {
	// Push hands the deliveries over together (one, unless the sink is configured for batches) and answers for all of
	// them: nil once the other side has taken them. It is called from many goroutines and ends with ctx. A *RefusedError
	// names those that will never be taken; the others of the batch were not taken either. Every other error is
	// transient, and a *LaterError says when to come back. No error holds a secret.
	Push(ctx context.Context, batch []Delivery) error
}

// LaterError is a transient error of a channel that asks to be left alone for a while (Retry-After).
type LaterError struct {
	After time.Duration
	Err   error
}

// Error tells the cause and for how long.
func (e *LaterError) Error() string { return fmt.Sprintf("%v; again in %s", e.Err, e.After) }

// Unwrap returns the cause.
func (e *LaterError) Unwrap() error { return e.Err }

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

// Subscriber is an entry of the address book.
type Subscriber struct {
	ID       string   // user:<id> or role:<id>
	Name     string   // of the person or role, for a salutation; may be ""
	Language string   // of its texts, as "zh"; "" = the notice's text without a language
	Mail     []string // addresses, as "Ann Lee <ann@example.com>" or "ann@example.com"; a role may have several
}

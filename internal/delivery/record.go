package delivery

import (
	"errors"
	"time"
)

// The answers of the ledger that a sink tells apart.
var (
	ErrNotFound = errors.New("ledger: not found")
	ErrFenced   = errors.New("ledger: the claim was lost to another node")
)

// Lane is what is delivered in order: a sink and, for the inbox, a warehouse. One node at a time drains it.
type Lane struct {
	Sink      string
	Warehouse string
}

// Delivered is a delivery that the inbox had, with the score it was given.
type Delivered struct {
	Delivery
	Score int64
}

// Mark is what a user did with a notice in a warehouse: it has read it, or acked it, too.
type Mark struct {
	Notice    string
	Warehouse string
	User      string // user:<id>
	Acked     bool
	At        time.Time
	Expires   time.Time // the notice
}

// Watermark says that a user has read everything in an inbox up to a score.
type Watermark struct {
	Warehouse string
	User      string // user:<id>
	Inbox     string // user:<id> or role:<id>
	Score     int64
	At        time.Time // when it rose last
}

// IndexState is the generation of an index in Redis, as the ledger records it.
type IndexState struct {
	Epoch    string
	RunIDs   []string // of the Redis servers it was built on, sorted
	Building bool     // a node is writing it back; after Lease another may begin anew
	Node     string
	Lease    time.Time // by the clock of whoever asks
}

package delivery

import "tallyman/internal/notice"

// Delivery is one notice on its way to one sink.
type Delivery struct {
	Seq        int64 // the ledger's number; ascending in the order of commit within a lane
	Notice     *notice.Notice
	Recipients []string // inbox only: user:<id> or role:<id>, sorted
}

// Receipt is a sink's answer for one delivery.
type Receipt struct {
	Seq   int64
	Score int64  // inbox only: the warehouse clock it was given; the ledger records it
	Epoch string // inbox only: the epoch that the score belongs to
}

// Package sinks is the contract between the delivery loop and the places that notices go.
package sinks

import (
	"context"

	"tallyman/internal/notice"
)

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

// Sink takes notices. It is idempotent by notice id: what it took before gets the same receipt.
type Sink interface {
	// Deliver takes the deliveries of one lane (for the inbox: of one warehouse) in order. It answers
	// for all or for none. A *RefusedError names those that stand in the way of the others for good.
	Deliver(ctx context.Context, lane string, batch []Delivery) ([]Receipt, error)
}

package sinks

import (
	"context"
	"errors"

	"tallyman/internal/delivery"
)

// ErrUnavailable says that an index in Redis cannot be used now: it is out of reach, or being written back.
var ErrUnavailable = errors.New("the index is not in reach or being rebuilt")

// Sink takes notices. It is idempotent by notice id: what it took before gets the same receipt.
type Sink interface {
	// Deliver takes the deliveries of one lane (for the inbox: of one warehouse) in order. It answers
	// for all or for none. A *RefusedError names those that stand in the way of the others for good.
	Deliver(ctx context.Context, lane string, batch []delivery.Delivery) ([]delivery.Receipt, error)
}

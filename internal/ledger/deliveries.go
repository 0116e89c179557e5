package ledger

import (
	"context"
	"strconv"
	"time"

	"tallyman/internal/delivery"
)

// DeliveryState is how a delivery stands. The numbers are the flags that the WMS knows.
type DeliveryState int16

// The states.
const (
	DeliveryPending  DeliveryState = 0
	DeliverySent     DeliveryState = 1
	DeliveryFailed   DeliveryState = 2
	DeliveryTimedOut DeliveryState = 3
	DeliveryCanceled DeliveryState = 4
)

// MostCounted is how far the deliveries of a sink in a state are counted: who looks at a sink should not have to wait because it has been in use for
// months. Whoever wants to know more counts what happens (tallyman_deliveries_total).
const MostCounted = 10_000

// String returns the name that output uses.
func (s DeliveryState) String() string {
	switch s {
	case DeliveryPending:
		return "pending"
	case DeliverySent:
		return "sent"
	case DeliveryFailed:
		return "failed"
	case DeliveryTimedOut:
		return "timed_out"
	case DeliveryCanceled:
		return "canceled"
	default:
		return strconv.Itoa(int(s))
	}
}

// Lane is what is delivered in order; see sinks.Lane.
type Lane = delivery.Lane

// Deliveries is what the delivery loop needs.
type Deliveries interface {
	// PendingLanes returns the lanes of the sink with anything pending that no living node drains.
	PendingLanes(ctx context.Context, sink string) ([]Lane, error)
	// AcquireLane takes the lane for node, or reports false while another node holds it.
	AcquireLane(ctx context.Context, lane Lane, node string, lease time.Duration) (bool, error)
	// ReleaseLane gives it up; a lane that another node holds by now is left alone.
	ReleaseLane(ctx context.Context, lane Lane, node string) error
	// Pending returns pending deliveries of the lane in the order of Seq, at most limit. Those of notices that
	// have expired are set to canceled instead of being returned.
	Pending(ctx context.Context, lane Lane, limit int) ([]delivery.Delivery, error)
	// MarkSent records the receipts, and counts the attempt. What is not pending stays as it is. Receipts of
	// an epoch that is not the recorded one any more are not recorded, since the rebuild of the new one may
	// have passed them: the deliveries stay pending and the answer is ErrFenced.
	MarkSent(ctx context.Context, receipts []delivery.Receipt) error
	// MarkAttempt counts a failed attempt with its error (secrets removed by the caller).
	MarkAttempt(ctx context.Context, seqs []int64, cause string) error
	// MarkFailed ends deliveries that can never succeed.
	MarkFailed(ctx context.Context, seqs []int64, cause string) error
	// CountPending returns the number of pending deliveries by sink, for those who ask often.
	CountPending(ctx context.Context) (map[string]int64, error)
	// CountDeliveries returns the number of deliveries by sink and state, up to MostCounted of each.
	CountDeliveries(ctx context.Context) (map[string]map[DeliveryState]int64, error)
}

// Indexes is what is kept of what lives in Redis, so that it can be written back.
type Indexes interface {
	IndexRecord
	InboxRecord
	Items
}

// IndexRecord is what an index in Redis (the inbox, a queue) needs to tell its own life from another's.
type IndexRecord interface {
	// IndexState returns the recorded epoch and the Redis run ids it was built on; ErrNotFound before the first.
	IndexState(ctx context.Context, sink string) (IndexState, error)
	// BeginEpoch replaces the state if the recorded epoch is still prev ("" = none), otherwise ErrFenced:
	// another node was faster, or one is building it within its lease. The rebuild follows; Building is true
	// until FinishEpoch. next's Epoch and RunIDs count.
	BeginEpoch(ctx context.Context, sink, prev string, next IndexState, node string, lease time.Duration) error
	// FinishEpoch marks the rebuild as complete. ErrFenced if the epoch is not next any more.
	FinishEpoch(ctx context.Context, sink, epoch string) error
}

// InboxRecord is what the inbox needs besides to survive the loss of Redis.
type InboxRecord interface {
	// HighestScores returns the highest recorded score of each warehouse.
	HighestScores(ctx context.Context, sink string) (map[string]int64, error)
	// Delivered returns sent inbox deliveries of unexpired notices with a score above after, ascending by score.
	Delivered(ctx context.Context, lane Lane, after int64, limit int) ([]Delivered, error)
}

// IndexState is the generation of an index in Redis; see sinks.IndexState.
type IndexState = delivery.IndexState

// Delivered is a delivery that the inbox had, with its score; see sinks.Delivered.
type Delivered = delivery.Delivered
